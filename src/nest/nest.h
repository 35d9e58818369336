// SPDX-License-Identifier: Apache-2.0
// The `nest` level: one flattened contraction or map, with storage applied. An index box, integer
// affine access per operand, remaining constraints, combine and aggregate operators, and post-ops
// on the finished accumulator.
//
//   nest conv {
//     index n 1, m 64, y 56, x 56 | c 64, r 3, s 3
//     slot 0 f32 200704, 1 f32 36864, 2 f32 200704, 3 f32 64
//     acc f32 = sum mul
//     in  0 + 0 [n:1*200704, y + r - 1:56?*3584, x + s - 1:56?*64, c:64*1]
//     in  1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
//     out 2 + 0 [n:1*200704, y:56*3584, x:56*64, m:64*1]
//     extra 3 + 0 const [m:64*1]
//     post max(acc + $0, 0)
//   }
//
// With `acc f32 = sum term` the value of a point is an expression of all inputs, as in maps that are
// evaluated where a sum reads them; it stands behind the inputs, `term max($0 - $1, 0)`.
//
// With `acc f32 = sum pick` an input is read where others say: `$2` as a subscript of input 0 is the
// value of input 2, a position, which is read at the same point. Positions are the last inputs, and
// integers; a point whose position lies outside its dimension does not count.
//
// Constraints stand after the inputs, one a line: `where x - y < 5` drops points at which x - y is
// negative or not below 5.
//
// A dimension prints as SUBSCRIPT:SIZE*STRIDE; `?` after the size marks one whose subscript may
// leave [0, SIZE): a *virtual padded tensor*. A point whose input lies outside contributes nothing.
// Output subscripts never leave.
//
// Slots are the kernel's arguments; which tensor a slot is bound to is the plan's business, so
// equal nests are equal text and share one kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "base/scanner.h"
#include "program/expr.h"
#include "program/program.h"
#include "target/dtype.h"

namespace tilefuse::nest {

// An index of a nest.
enum class IndexId : int {};
constexpr int format_as(IndexId id) { return to_int(id); }
// A slot of a nest, or of a group of nests.
enum class SlotId : int {};
constexpr int format_as(SlotId id) { return to_int(id); }

// constant + sum of coeff[i] * index i.
struct Linear {
  std::int64_t constant = 0;
  Indexed<IndexId, std::int64_t> coeff; // of every index of the nest
  friend bool operator==(const Linear &, const Linear &) = default;
};

struct Index {
  std::string name;
  std::int64_t extent = 1;
  friend bool operator==(const Index &, const Index &) = default;
};

struct Dim {
  Linear at;
  std::int64_t size = 1;   // valid subscripts are [0, size)
  std::int64_t stride = 1; // elements
  bool guarded = false;    // the subscript can leave its range
  std::optional<int> by;   // the input whose value is the subscript; `at` is 0, and it is guarded
  friend bool operator==(const Dim &, const Dim &) = default;
};

// Element (d0, d1, …) of a slot lies at offset + sum of d * stride, in elements.
struct Operand {
  SlotId slot{};
  std::int64_t offset = 0;
  std::vector<Dim> dims;
  bool constant = false; // known at load time, so a schedule may pack it
  friend bool operator==(const Operand &, const Operand &) = default;
};

struct Slot {
  DType type = DType::F32;
  std::int64_t elems = 0;
  friend bool operator==(const Slot &, const Slot &) = default;
};

// A point counts when 0 <= expr < bound.
struct Constraint {
  Linear expr;
  std::int64_t bound = 0;
  friend bool operator==(const Constraint &, const Constraint &) = default;
};

struct Nest {
  std::string name;                // a kernel-name stem such as conv; letters, digits and _
  Indexed<IndexId, Index> indices; // output indices first
  int output_indices = 0;          // the rest are reduced
  Indexed<SlotId, Slot> slots;
  program::Agg agg = program::Agg::Assign;
  program::Comb comb = program::Comb::None;
  DType acc_type = DType::F32; // the type products and sums are kept in
  bool tf32 = false;           // operands of products may be rounded to a mantissa of 10 bits
  std::vector<Operand> inputs; // 0 for a pure map, or takes_operands(comb, …)
  program::Expr term;          // Comb::Term: of the inputs; all leaves and the value in acc_type
  std::vector<Constraint> constraints;
  Operand out;
  std::vector<Operand> extras; // read by post, at output indices only
  program::Expr post;          // of `acc` (given inputs) and extras; cast to the out slot's type

  friend bool operator==(const Nest &, const Nest &) = default;
};

// Inputs whose values are subscripts of the first one: the last so many.
std::size_t positions(const Nest &nest);
// Offset and stride per index of an operand, its dimensions multiplied out.
Linear flat(const Operand &operand, std::size_t indices);
// The type in which an input takes part: that of the accumulator, or for inputs that are compared
// the one they meet in.
DType input_type(const Nest &nest, std::size_t input);
// Value the accumulator starts from: 0, 1, or the lowest / highest value of the type.
double initial_value(program::Agg agg, DType type);
// Whether it is a sum of products of f32.
bool multiplies_f32(const Nest &nest);
// Points of the output indices: elements that the nest writes.
std::int64_t output_points(const Nest &nest);
// Operations of an expression.
double operations(const program::Expr &expr);
// Operations of the whole nest: two per point of a sum of products, one per point of another
// reduction, plus post-ops per output.
double flops(const Nest &nest);

// Throws Error{Shape} naming the invariant that is broken.
void verify(const Nest &nest);

std::string to_text(const Nest &nest);
// Reads the text back exactly and verifies it. Throws Error{Syntax|Limit|Shape}.
Nest parse_nest(std::string_view text, const std::string &file = "<nest>");
// The same for a nest inside a larger text: leaves the scanner behind its closing brace.
Nest parse_nest(Scanner &scanner);

} // namespace tilefuse::nest
