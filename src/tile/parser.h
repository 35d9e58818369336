// SPDX-License-Identifier: Apache-2.0
// Tile text → syntax tree.
//
//   function   = "function" [name] "(" [parameters] [";" attributes] ")"
//                "->" "(" Name {"," Name} ")" "{" {statement} "}"
//   parameters = parameter {"," parameter}
//   parameter  = [type] Name ["[" [dim {"," dim}] "]"]
//   dim        = Name | integer
//   attributes = attribute {"," attribute}
//   attribute  = Name ["=" ["-"] number]
//   statement  = {"[[" name ["(" name {"," name} ")"] "]]"} definition ";"
//   definition = Name "=" expression
//              | Name {"," Name} "=" name "(" [arguments] ")"
//              | Name "[" [sums] [":" [sums]] "]" "=" aggregate "(" operands
//              ")"
//                {"," sum "<" sum} {"no_defract" | "default" Name}
//   aggregate  = "+" | "*" | ">" | "<" | "="
//   operands   = operand [("*" | "+" | "==") operand] | operand "==" operand
//                "?" operand
//   operand    = Name "[" [subscript {"," subscript}] "]"
//   subscript  = sum | Name "[" [sums] "]"
//   expression = binary ["?" expression ":" expression]
//   binary     = || && | ^ & (== !=) (< <= > >=) (<< >>) (+ -) (* /) over unary, loosest first as
//                in C; comparisons do not chain
//   sums       = sum {"," sum}
//   sum        = + - * / over unary
//   unary      = ("-" | "~") unary | number | integer name | Name | name "("
//   [arguments] ")"
//              | "(" expression ")"
//   arguments  = [expression {"," expression}] [";" binding {"," binding}]
//   binding    = Name "=" expression
//
// Before ":" stand a result's subscripts, after it its sizes, as many; "<"
// bounds a subscript from above and 0 from below; `2i` is 2*i. In
// X[o, J[e], i] an element of J, integers, says where X is read; that is for the first operand of
// a sum, or of a sum of products. #name is a Name
// and $name a name of any case; both may end with '. After a mistake the parser
// goes on at the next statement or function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tile/ast.h"
#include "tile/lexer.h"

namespace tilefuse::tile {

struct ParsedFunction {
  Function function;
  bool complete = true; // false: a mistake was reported inside, some statements are missing
};

std::vector<ParsedFunction> parse_functions(std::string_view text, const std::string &file,
                                            Diagnostics &diagnostics);

// Expressions of one text. A mistake is reported once and answered with
// nothing.
class ExpressionParser {
public:
  ExpressionParser(Cursor &cursor, Diagnostics &diagnostics)
      : cursor_(cursor), diagnostics_(diagnostics) {}

  std::optional<Expression> expression();
  std::optional<Expression> sum();

private:
  std::optional<Expression> binary(std::size_t level);
  std::optional<Expression> unary();
  std::optional<Expression> primary();
  std::optional<Expression> number();
  std::optional<Expression> multiple();
  Expression name();
  std::optional<Expression> call();
  bool arguments(Expression &call);
  bool attribute_arguments(Expression &call);
  std::optional<Expression> operation(Position at, ScalarOp op, std::vector<Expression> args);
  std::optional<Expression> unexpected(std::string_view expected);
  std::optional<Expression> too_deep(Position at);

  Cursor &cursor_;
  Diagnostics &diagnostics_;
  int depth_ = 0;
};

} // namespace tilefuse::tile
