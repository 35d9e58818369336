// SPDX-License-Identifier: Apache-2.0
// Layouts are strides. Which strides a tensor would like, and whether one shape's elements can be
// walked under another shape without moving them: [1, 32, 8, 8] channels-last is also [1, 4, 8, 8,
// 8], but not [1, 2048].
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// How the activations of a network lie: channels innermost, in the order of their dimensions, or in
// blocks with a block innermost (block_channels.h, then in order).
enum class Layout { Nhwc, Nchw, Blocked };
// "nhwc", "nchw", "blocked".
std::string_view to_string(Layout layout);
std::optional<Layout> parse_layout(std::string_view name);

// Strides with dimensions 1 … `channels` innermost and the rest in order: (n, y, x, c) for rank 4
// and one channel dimension. Rank must be above `channels`.
Shape channels_last(const Shape &shape, std::size_t channels = 1);

// Whether two strides place every element alike; strides of dimensions of size 1 do not count.
bool same_layout(const Shape &shape, const Shape &a, const Shape &b);

// Strides under which `to` walks, in row-major order, the elements of `from` laid out by `strides`;
// nothing when they would have to move. Both shapes hold equally many elements, each dimension at
// least 1.
std::optional<Shape> view_strides(const Shape &from, const Shape &strides, const Shape &to);

// By TensorId: how many dimensions from dimension 1 on are channels that should lie innermost; 0:
// row-major serves best. A convolution says it of its result: a sum of products where one operand
// has these dimensions but not the batch. Maps, pooling, slices and the like pass it on to
// temporaries of the same rank, views to those that split or merge channels.
std::vector<std::size_t> channel_dims(const Program &program);

} // namespace tilefuse::program
