// SPDX-License-Identifier: Apache-2.0
// Layouts are strides. Which strides a tensor would like, and whether one shape's elements can be
// walked under another shape without moving them: [1, 32, 8, 8] channels-last is also [1, 4, 8, 8,
// 8], but not [1, 2048].
#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// Strides with dimension 1 innermost and the rest in order: (n, y, x, c) for rank 4. Rank must be
// at least 2.
Shape channels_last(const Shape &shape);

// Whether two strides place every element alike; strides of dimensions of size 1 do not count.
bool same_layout(const Shape &shape, const Shape &a, const Shape &b);

// Strides under which `to` walks, in row-major order, the elements of `from` laid out by `strides`;
// nothing when they would have to move. Both shapes hold equally many elements, each dimension at
// least 1.
std::optional<Shape> view_strides(const Shape &from, const Shape &strides, const Shape &to);

// By TensorId: whether channels-last serves it. It does for temporaries of rank >= 3 that maps,
// pooling, slices and the like connect to a convolution: a sum of products where one operand has
// the result's channels but not its batch.
std::vector<bool> wants_channels_last(const Program &program);

} // namespace tilefuse::program
