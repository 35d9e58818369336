// SPDX-License-Identifier: Apache-2.0
// The points of a contraction: which of its subscripts tell them apart, and how they stay the same
// when an operand is left out.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// A subscript or constraint, and the size that it stays below.
struct Row {
  Affine at;
  std::int64_t size = 0;
};

std::vector<Row> rows_of(const Program &program, const Access &access);
// Of the result, the operands and the constraints.
std::vector<Row> all_rows(const Program &program, TensorId out, const Contraction &contraction);

// Whether different points of a contraction with the rows `all` differ in some of `rows`, as far as
// that follows from the ranks of subscripts; indices that a row holds at one value do not count.
bool tell_apart(std::span<const Row> rows, std::span<const Row> all, std::size_t indices);

// Some of `all` that tell the points apart, few elements in all: the subscripts of a tensor that
// holds one element per point. None when an index is not bounded by rows without fractions.
std::optional<std::vector<Row>> coordinates(std::span<const Row> all, std::size_t indices);

// A contraction of the same indices and constraints as `from`, without operands.
Contraction same_points(const Contraction &from);

// Adds, as constraints, the rows that hold an index at one value: coordinates leave them out.
void add_equations(Contraction &contraction, std::span<const Row> all);

// Lets `into`, which has one operand, run only over points at which `accesses` are in range.
void restrict_to(GradientBuilder &builder, Contraction &into, std::span<const Access> accesses);

} // namespace tilefuse::program
