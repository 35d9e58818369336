// SPDX-License-Identifier: Apache-2.0
// The `program` level: a typed tensor program in single assignment with every shape bound. A
// statement defines one tensor by a contraction, a pointwise map or a view; a Tile function and an
// ONNX model both end here.
//
//   program "demo" {
//     input %0 "x" : f32[1, 3, 8, 8]
//     const %1 "w" : f32[4, 3, 3, 3] hash "6c62…"
//     %2 "conv" : f32[1, 4, 8, 8] = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %1[m,
//     c, r, s])
//       -> [n, m, y, x] from "Conv_0"
//     %3 "relu" : f32[1, 4, 8, 8] = map[%2](max($0, 0))
//     %4 "flat" : f32[4, 64] = view(%3)
//     output %4
//   }
//
// Grammar of the text form; STRING is quoted and escaped, ID is % and a number, EXPR is that of
// expr.h:
//
//   program     := 'program' STRING '{' {line} '}'
//   line        := ('input' | 'const' | 'temp') declaration | 'output' ID | declaration '=' body
//   ['from' STRING] declaration := ID STRING ':' TYPE '[' [INT {',' INT}] ']' ['hash' STRING] body
//   := AGG '[' [INDEX {',' INDEX}] ']' '(' operands ')' '->' subscripts
//                  ['where' constraint {',' constraint}] ['init' ID]
//                | 'map' '[' [ID {',' ID}] ']' '(' EXPR ')' | 'view' '(' ID ')'
//   operands    := access [('*' | '+') access] | access '==' access ['?' access]
//                | access ['*' access] 'at' position {',' position}
//                | EXPR 'of' access {',' access}
//   position    := INDEX '==' access
//   AGG         := 'sum' | 'product' | 'max' | 'min' | 'assign'
//   access      := ID subscripts
//   subscripts  := '[' [affine {',' affine}] ']'
//   constraint  := '0' '<=' affine '<' INT
//   affine      := ['-'] term {('+' | '-') term}
//   term        := INDEX | INT ['/' INT] ['*' INDEX]
//
// `temp` declares a temporary that no statement defines (storage.h: one that is written through
// another's window).
//
// Invariants (verify checks them): every tensor is defined once and before its use; subscripts
// match ranks; a view keeps the element count; constants of a program that will run carry their
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/index.h"
#include "base/rational.h"
#include "program/expr.h"
#include "target/dtype.h"

namespace tilefuse::program {

enum class TensorId : int {};

using Shape = std::vector<std::int64_t>;
// Number of elements; 1 for a scalar. Throws Error{Limit} past 2^62.
std::int64_t elems(const Shape &shape);
// Row-major strides, elements.
Shape row_major(const Shape &shape);

enum class Role { Input, Constant, Temporary };

using Bytes = std::vector<std::byte>;

struct Tensor {
  std::string name; // the user's; for messages only, never for generated code
  DType type = DType::F32;
  Shape shape;
  Role role = Role::Temporary;
  std::shared_ptr<const Bytes> data; // row-major elements of a Constant
  std::string data_hash;             // of a parsed Constant, whose data was not in the text
};

// Sum of coefficient * index over the contraction's indices, plus a constant.
struct Affine {
  std::vector<Rational> coeff; // one per index of the contraction
  Rational constant;
  friend bool operator==(const Affine &, const Affine &) = default;
};

// Whether the form is that index alone.
bool is_index(const Affine &affine, std::size_t index);

struct Access {
  TensorId tensor{};
  std::vector<Affine> subscripts; // one per dimension of the tensor
};

// Points with 0 <= expr < bound take part; expr need not be an integer.
struct Constraint {
  Affine expr;
  std::int64_t bound = 0;
};

enum class Agg { Sum, Product, Max, Min, Assign };
// How the operands of one point become the value that is aggregated:
//   None    in[0]
//   Mul     in[0] * in[1]
//   Add     in[0] + in[1]
//   Equal   in[0] == in[1], as 0 or 1 of the result's type
//   Select  in[0] == in[1] ? in[2] : 0
//   Term    an expression of all of them
//   Pick    in[0], or in[0] * in[1], where positions, the operands behind them, equal indices: an
//           indirect read (Contraction::picks)
// Operands that are compared meet in their promoted type.
enum class Comb { None, Mul, Add, Equal, Select, Term, Pick };
// Whether a combination takes so many operands: 1, 2 or 3, at least 1 for Term and 2 for Pick.
bool takes_operands(Comb comb, std::size_t count);
// Whether the first two operands are compared.
inline bool compares(Comb comb) { return comb == Comb::Equal || comb == Comb::Select; }

// out[subscripts] = agg over all integer index tuples for which every subscript is in range and
// every constraint holds, of comb(in...). Elements never written are those of `init`, or 0.
struct Contraction {
  Agg agg = Agg::Sum;
  Comb comb = Comb::None;
  std::vector<std::string> indices;
  std::vector<Affine> out;
  std::vector<Access> in; // takes_operands(comb, in.size())
  Expr term;              // Term: of in[k] as operand k, in the type that its result is computed in
  // Pick: indices that only a subscript of in[0] has, each alone. A point counts where the last
  // picks.size() operands, tensors of integers, have their values; others contribute nothing.
  std::vector<std::size_t> picks;
  std::vector<Constraint> constraints;
  std::optional<TensorId> init; // of the shape and type of the result
};

// Elementwise: `expr` over operands, which broadcast to the result's shape by NumPy's rule
// (right-aligned, 1 repeats).
struct Map {
  Expr expr; // leaf Operand k reads operands[k]
  std::vector<TensorId> operands;
};

// The same elements in row-major order under another shape.
struct View {
  TensorId in{};
};

struct Statement {
  TensorId out{};
  std::variant<Contraction, Map, View> body;
  std::string origin; // the ONNX node or Tile line it came from, for messages and kernel lists
};

struct Program {
  std::string name;
  std::vector<Tensor> tensors; // TensorId is the position
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<Statement> statements; // in an order in which they can run
  bool tf32 = false; // products of f32 may round their operands to a mantissa of 10 bits

  const Tensor &operator[](TensorId id) const { return tensors[at(id)]; }
  Tensor &operator[](TensorId id) { return tensors[at(id)]; }
  TensorId add(Tensor tensor);
};

// Tensors a statement reads, in order (a contraction's operands, then its init).
std::vector<TensorId> reads(const Statement &statement);

// "sum", "product", …
std::string_view to_string(Agg agg);
std::optional<Agg> parse_agg(std::string_view name);

// "2*y + r - 1".
std::string to_text(const Affine &affine, std::span<const std::string> indices);

// Throws Error{Shape|Type} naming the statement that breaks an invariant.
void verify(const Program &program);

// Text form and back. Tensor names are printed as %0, %1, … with the user's name quoted beside the
// declaration; data of constants is not printed (a content hash is), so a parsed program has none.
std::string to_text(const Program &program);
Program parse_program(std::string_view text, const std::string &file = "<program>");

} // namespace tilefuse::program
