// SPDX-License-Identifier: Apache-2.0
// Values as integers see them: sums of tensors of integers, each less its zero point and times its
// scale, within bounds. A dequantised tensor is one, so is a sum of products of two such, and what
// adds, scales and limits them by constants stays one:
//
//   min(max((whole + offset) * scale + … + shift, low), high)
//
// Numbers are those of f32: what a program computes of its constants is rounded after each
// operation, as the program would.
#pragma once

#include <optional>
#include <vector>

#include "program/precision/grid.h"

namespace tilefuse::program {

struct Term {
  TensorId whole{};
  Grid offset; // integers
  Grid scale = single_grid(1);
};

struct Scaled {
  std::vector<Term> terms; // none: a constant
  Grid shift;
  std::optional<Grid> low;
  std::optional<Grid> high;

  bool is_constant() const { return terms.empty(); }
};

Scaled constant_value(Grid grid);
Scaled integers(TensorId whole, double offset = 0);

// The value of an operation of f32 or of integers on such values; nothing where it is none.
std::optional<Scaled> apply(ScalarOp op, DType type, const std::vector<Scaled> &args);
// As another type: a constant is converted, integers are read as wider ones or as f32.
std::optional<Scaled> converted(const Scaled &value, DType from, DType to);

// A tensor of integers with one offset and one scale for all; null where it is no such.
const Term *as_uniform(const Scaled &value);
// (whole + offset) * scale, whatever these vary along; null where it is no such.
const Term *as_term(const Scaled &value);

// What a map reads: each tensor once.
class Operands {
public:
  Expr read(const Program &program, TensorId id);
  // A number, or a constant that is added to the program.
  Expr read(Program &program, const Grid &grid, DType type);
  const std::vector<TensorId> &ids() const { return ids_; }

private:
  std::vector<TensorId> ids_;
};

// The value as an expression of f32 or i32.
Expr to_expr(Program &program, Operands &operands, const Scaled &value, DType type);

} // namespace tilefuse::program
