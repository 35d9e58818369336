// SPDX-License-Identifier: Apache-2.0
#include "program/precision/grid.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

// One value where all are.
Grid collapsed(Grid grid) {
  const double first = grid.values.front();
  const bool is_same = std::all_of(grid.values.begin(), grid.values.end(),
                                   [&](double value) { return value == first; });
  return is_same ? single_grid(first) : grid;
}

std::optional<Shape> joined(const Shape &a, const Shape &b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape &other = a.size() >= b.size() ? b : a;
  for (std::size_t d = 0; d < other.size(); ++d) {
    std::int64_t &size = shape[shape.size() - other.size() + d];
    if (size != other[d] && size != 1 && other[d] != 1)
      return std::nullopt;
    size = std::max(size, other[d]);
  }
  return shape;
}

// For each dimension of `shape` how far one step along it moves in the grid.
Shape strides_in(const Grid &grid, const Shape &shape) {
  const Shape own = row_major(grid.shape);
  Shape strides(shape.size(), 0);
  for (std::size_t d = 0; d < own.size(); ++d)
    if (grid.shape[d] != 1)
      strides[shape.size() - own.size() + d] = own[d];
  return strides;
}

} // namespace

Grid single_grid(double value) { return {{}, {value}}; }

bool is_single(const Grid &grid, double value) {
  return grid.is_single() && grid.single() == value;
}

std::optional<Grid> grid_of(const Tensor &constant, std::int64_t most) {
  const std::int64_t count = elems(constant.shape);
  if (constant.role != Role::Constant || !constant.data || count > most || count == 0)
    return std::nullopt;
  Grid grid{constant.shape, {}};
  for (std::int64_t i = 0; i < count; ++i)
    grid.values.push_back(load_element(constant.data->data(), constant.type, i));
  return collapsed(std::move(grid));
}

std::optional<Grid> zip(const Grid &a, const Grid &b, const OnValues &operation) {
  const std::optional<Shape> shape = joined(a.shape, b.shape);
  if (!shape)
    return std::nullopt;
  const Shape in_a = strides_in(a, *shape), in_b = strides_in(b, *shape), own = row_major(*shape);
  Grid result{*shape, {}};
  for (std::int64_t i = 0; i < elems(*shape); ++i) {
    std::int64_t at_a = 0, at_b = 0;
    for (std::size_t d = 0; d < own.size(); ++d) {
      const std::int64_t step = i / own[d] % (*shape)[d];
      at_a += step * in_a[d];
      at_b += step * in_b[d];
    }
    result.values.push_back(operation(a.values[at(at_a)], b.values[at(at_b)]));
  }
  return collapsed(std::move(result));
}

Grid each(Grid grid, const std::function<double(double)> &operation) {
  for (double &value : grid.values)
    value = operation(value);
  return collapsed(std::move(grid));
}

bool all_of(const Grid &grid, const std::function<bool(double)> &holds) {
  return std::all_of(grid.values.begin(), grid.values.end(), holds);
}

TensorId add_constant(Program &program, const Grid &grid, DType type, const std::string &name) {
  Bytes bytes(grid.values.size() * static_cast<std::size_t>(size_bytes(type)));
  for (std::size_t i = 0; i < grid.values.size(); ++i)
    store_element(bytes.data(), type, static_cast<std::int64_t>(i), grid.values[i]);
  return program.add({.name = name,
                      .type = type,
                      .shape = grid.shape,
                      .role = Role::Constant,
                      .data = std::make_shared<const Bytes>(std::move(bytes))});
}

} // namespace tilefuse::program
