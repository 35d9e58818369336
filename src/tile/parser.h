// SPDX-License-Identifier: Apache-2.0
// Tile text → syntax tree.
//
//   function   = "function" name "(" [parameters] [";" attributes] ")"
//                "->" "(" Name {"," Name} ")" "{" {statement} "}"
//   parameters = parameter {"," parameter}
//   parameter  = Name ["[" [dim {"," dim}] "]"]
//   dim        = Name | integer
//   attributes = attribute {"," attribute}
//   attribute  = Name ["=" ["-"] number]
//   statement  = Name "=" expression ";"
//              | Name "[" [sums ":" sums] "]" "=" aggregate "(" operand [combine operand] ")"
//                {"," sum "<" sum} ["default" Name] ";"
//   aggregate  = "+" | "*" | ">" | "<" | "="
//   combine    = "*" | "+"
//   operand    = Name "[" [sums] "]"
//   expression = or ["?" expression ":" expression]
//   or         = and {"||" and}
//   and        = comparison {"&&" comparison}
//   comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sums       = sum {"," sum}
//   sum        = product {("+" | "-") product}
//   product    = unary {("*" | "/") unary}
//   unary      = "-" unary | number | Name | name "(" [arguments] ")" | "(" expression ")"
//   arguments  = [expression {"," expression}] [";" binding {"," binding}]
//   binding    = Name "=" expression
//
// Before ":" stand a result's subscripts, after it its sizes; "<" bounds a subscript from above and
// 0 from below. After a mistake the parser goes on at the next statement or function.
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

// Expressions of one text. A mistake is reported once and answered with nothing.
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
