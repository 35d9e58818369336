// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a Tile text: functions, their statements and expressions, as values. Positions
// point into the text. One kind of expression serves subscripts, sizes, constraints and pointwise
// values; check.h says which forms stand where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"
#include "target/dtype.h"
#include "tile/tile.h"

namespace tilefuse::tile {

// Line and column of a token, from 1.
struct Position {
  int line = 1;
  int column = 1;
};

struct Expression {
  enum class Kind { Integer, Number, Name, Operation, Call };
  Kind kind = Kind::Integer;
  Position at;
  std::int64_t integer = 0;     // Integer
  double number = 0;            // Number
  std::string name;             // Name; Call: the function's
  ScalarOp op = ScalarOp::Add;  // Operation: neg, an infix operator or select for ?:
  std::vector<Expression> args; // Operation, Call
  std::vector<std::string>
      attributes; // Call: names of the last attributes.size() arguments, which stand after `;`
  int depth = 1;  // of the tree below and with this node
};

struct Reference {
  std::string tensor;
  Position at;
  std::vector<Expression> subscripts;
};

// 0 <= poly < bound
struct PolyConstraint {
  Expression poly;
  Expression bound;
};

struct ContractionBody {
  std::vector<Expression> subscripts; // of the result
  std::vector<Expression> sizes;
  program::Agg agg = program::Agg::Sum;
  program::Comb comb = program::Comb::None;
  std::vector<Reference> in;
  std::vector<PolyConstraint> constraints;
  std::optional<Reference> init; // `default X`; without subscripts
};

// name = expression;   or   name[…] = contraction;
struct Definition {
  std::string name;
  Position at;
  std::variant<Expression, ContractionBody> body;
};

// A dimension of a parameter: a name, or a numeral that must match.
using ParameterDim = std::variant<std::string, std::int64_t>;

struct Parameter {
  std::string name;
  Position at;
  std::optional<std::vector<ParameterDim>> dims; // nothing: any rank
};

struct AttributeDeclaration {
  std::string name;
  Position at;
  std::optional<Attribute> value; // the default
};

struct Result {
  std::string name;
  Position at;
};

struct Function {
  std::string name;
  std::string file;
  Position at;
  std::vector<Parameter> parameters;
  std::vector<AttributeDeclaration> attributes;
  std::vector<Result> results;
  std::vector<Definition> statements;
};

// Tensors, dimensions and attributes start with A-Z, indices and functions with a-z; letters,
// digits and _ follow.
bool is_upper_name(std::string_view name);
bool is_lower_name(std::string_view name);

// Limits on input, so that no text can exhaust the stack or memory.
inline constexpr int kMaxDepth = 200;                           // nesting of an expression
inline constexpr int kMaxCallDepth = 64;                        // functions calling functions
inline constexpr std::size_t kMaxRank = 16;                     // dimensions of a tensor
inline constexpr std::size_t kMaxStatements = 100'000;          // of one instantiation
inline constexpr std::int64_t kMaxFill = std::int64_t{1} << 28; // elements of a fill

} // namespace tilefuse::tile
