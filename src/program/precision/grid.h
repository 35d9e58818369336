// SPDX-License-Identifier: Apache-2.0
// Constants by value, which broadcast as operands of maps do: right-aligned, 1 repeats. What is the
// same everywhere is one value of rank 0.
//
//   [2, 1] {1, 3}  +  [] {0.5}   is   [2, 1] {1.5, 3.5}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Grid {
  Shape shape;
  std::vector<double> values{0}; // row-major
  bool is_single() const { return values.size() == 1; }
  double single() const { return values.front(); }
  friend bool operator==(const Grid &, const Grid &) = default;
};

Grid single_grid(double value);
bool is_single(const Grid &grid, double value);
// The elements of a constant; nothing without data or past `most` elements.
std::optional<Grid> grid_of(const Tensor &constant, std::int64_t most);

using OnValues = std::function<double(double, double)>;
// Element by element; nothing where the shapes do not broadcast to one another.
std::optional<Grid> zip(const Grid &a, const Grid &b, const OnValues &operation);
Grid each(Grid grid, const std::function<double(double)> &operation);
bool all_of(const Grid &grid, const std::function<bool(double)> &holds);

// A constant of the program; f32 and integers are rounded to.
TensorId add_constant(Program &program, const Grid &grid, DType type, const std::string &name);

} // namespace tilefuse::program
