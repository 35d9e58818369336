// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a Tile text: functions, their statements and expressions,
// as values that compare equal wherever they stand in their texts. Positions
// point into the text. One kind of expression serves subscripts, sizes,
// constraints and pointwise values; check.h says which forms stand where. Names
// are spelled as in the text, without a needless escape: `#Out` is `Out`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"
#include "target/dtype.h"
#include "tile/attributes.h"

namespace tilefuse::tile {

// Line and column of a token, from 1. Where a thing stands is no part of what
// it is: all are equal.
struct Position {
  int line = 1;
  int column = 1;
  friend bool operator==(Position, Position) { return true; }
};

// The text that positions point into. Equal to any other, as a Position is.
struct SourceText {
  std::shared_ptr<const std::string> text;
  friend bool operator==(const SourceText &, const SourceText &) { return true; }
};

struct Expression {
  // Element: of a tensor, as a subscript of an operand.
  enum class Kind { Integer, Number, Name, Operation, Call, Element };
  Kind kind = Kind::Integer;
  Position at;
  std::int64_t integer = 0;            // Integer
  double number = 0;                   // Number
  std::string name;                    // Name; Call: the function's; Element: the tensor's
  ScalarOp op = ScalarOp::Add;         // Operation: neg, an infix operator or select for ?:
  std::vector<Expression> args;        // Operation, Call; Element: its subscripts
  std::vector<std::string> attributes; // Call: names of the last attributes.size() arguments, which
                                       // stand after `;`
  int depth = 1;                       // of the tree below and with this node

  friend bool operator==(const Expression &, const Expression &) = default;
};

struct Reference {
  std::string tensor;
  Position at;
  std::vector<Expression> subscripts;

  friend bool operator==(const Reference &, const Reference &) = default;
};

// 0 <= poly < bound
struct PolyConstraint {
  Expression poly;
  Expression bound;

  friend bool operator==(const PolyConstraint &, const PolyConstraint &) = default;
};

struct ContractionBody {
  std::vector<Expression> subscripts; // of the result
  std::vector<Expression> sizes;
  program::Agg agg = program::Agg::Sum;
  program::Comb comb = program::Comb::None;
  std::vector<Reference> in;
  std::vector<PolyConstraint> constraints;
  std::optional<Reference> init; // `default X`; without subscripts
  bool no_defract = false;       // said to a compiler that need not heed it; changes no result

  friend bool operator==(const ContractionBody &, const ContractionBody &) = default;
};

// A name that a statement or a function's header introduces.
struct Result {
  std::string name;
  Position at;

  friend bool operator==(const Result &, const Result &) = default;
};

// [[name(parameter, …)]] before a statement: kept with it, without meaning to
// this compiler.
struct StatementAttribute {
  std::string name;
  std::vector<std::string> parameters;

  friend bool operator==(const StatementAttribute &, const StatementAttribute &) = default;
};

// name = expression;   or   name[…] = contraction;   or   name, name = call;
struct Definition {
  std::string name;
  Position at;
  std::vector<Result> others; // names after the first: the further results of a call
  std::variant<Expression, ContractionBody> body;
  std::vector<StatementAttribute> attributes;

  friend bool operator==(const Definition &, const Definition &) = default;
};

// A dimension of a parameter: a name, or a numeral that must match.
using ParameterDim = std::variant<std::string, std::int64_t>;

struct Parameter {
  std::string name;
  Position at;
  std::optional<DType> type;                     // nothing: any type
  std::optional<std::vector<ParameterDim>> dims; // nothing: any rank

  friend bool operator==(const Parameter &, const Parameter &) = default;
};

struct AttributeDeclaration {
  std::string name;
  Position at;
  std::optional<Attribute> value; // the default

  friend bool operator==(const AttributeDeclaration &, const AttributeDeclaration &) = default;
};

struct Function {
  std::string name; // "main" where the text gives none
  std::string file;
  SourceText source;
  Position at;
  int order = 0; // of definition within a library; it may call those with a lower one
  std::vector<Parameter> parameters;
  std::vector<AttributeDeclaration> attributes;
  std::vector<Result> results;
  std::vector<Definition> statements;

  friend bool operator==(const Function &, const Function &) = default;
};

// Tensors, dimensions and attributes start with A-Z or are escaped with #,
// indices and functions start with a-z or are escaped with $; letters, digits
// and _ follow, and one ' may end a name.
bool is_upper_name(std::string_view name);
bool is_lower_name(std::string_view name);
// A name as seen from outside, without its escape.
std::string_view plain_name(std::string_view name);

// Limits on input, so that no text can exhaust the stack or memory.
inline constexpr int kMaxDepth = 200;                           // nesting of an expression
inline constexpr int kMaxCallDepth = 64;                        // functions calling functions
inline constexpr std::size_t kMaxRank = 16;                     // dimensions of a tensor
inline constexpr std::size_t kMaxStatements = 100'000;          // of one instantiation
inline constexpr std::size_t kMaxTerms = 4096;                  // of one map
inline constexpr std::int64_t kMaxFill = std::int64_t{1} << 26; // elements of all its constants

} // namespace tilefuse::tile
