// SPDX-License-Identifier: Apache-2.0
// Tensors that hold elements of another one: its views, permutations, slices and single rows.
//
//   %2 = view(%1)
//   %2 = assign[i, j](%1[j, i + 3]) -> [i, j]
#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Movement {
  TensorId from{};
  // Where each element lies in `from`, over the dimensions of the tensor as indices; a view, which
  // keeps the row-major order, has none.
  std::optional<std::vector<Affine>> subscripts;

  bool is_view() const { return !subscripts; }
};

// What a statement moves; nothing where it computes, pads or repeats.
std::optional<Movement> movement_of(const Program &program, const Statement &statement);

// By dimension of `from` the dimension that it becomes; nothing where the movement is no
// permutation.
std::optional<std::vector<std::size_t>> permutation_of(const Program &program,
                                                       const Movement &movement, TensorId out);

// Shapes of an operand that broadcasts to a tensor of shape `whole`: `aligned`, with all of its
// dimensions, is the same elements as the result, which broadcasts to `from` before a view to `whole`,
// or before a permutation to it. Nothing where no such shape is.
std::optional<Shape> broadcast_before_view(const Shape &aligned, const Shape &whole,
                                           const Shape &from);
std::optional<Shape> broadcast_before_permutation(const Shape &aligned,
                                                  const std::vector<std::size_t> &to);
// `shape` with dimensions of 1 in front.
Shape aligned_to(std::size_t rank, Shape shape);

} // namespace tilefuse::program
