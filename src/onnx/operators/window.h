// SPDX-License-Identifier: Apache-2.0
// The geometry of convolutions and pools: auto_pad, explicit pads, ceil mode and dilation become,
// per spatial axis, one leading pad and one output size, which is all that the Tile functions take.
#pragma once

#include <vector>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

struct WindowAxis {
  std::int64_t in = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t begin = 0; // pads
  std::int64_t end = 0;
  std::int64_t out = 0;
  // Elements from the first to the last tap.
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  // Whether some tap of some result lies on an element; else all of them lie on padding.
  bool reaches_input() const;
};
using Window = std::vector<WindowAxis>;

// The spatial sizes of an operand [N, C, spatial…] with 1 to 3 of them; Error{Shape|Unsupported}
// for other ranks.
Ints spatial_sizes(const Call &call, const Value &value);
// A node's window of size `kernel` sliding over `sizes`; reads auto_pad, ceil_mode, dilations, pads
// and strides.
Window sliding_window(const Call &call, const Ints &sizes, const Ints &kernel);
// The window of a ConvTranspose, where `out` follows from the strides, output_padding and
// output_shape.
Window transposed_window(const Call &call, const Ints &sizes, const Ints &kernel);

// Adds one member of every axis as attribute `prefix` + Z, Y, X (the last axis is X).
void bind_axes(tile::Attributes &attributes, const std::string &prefix, const Window &window,
               std::int64_t WindowAxis::*member);
// Strides, dilations and sizes of the result, which every sliding function takes: S, D and O.
void bind_steps(tile::Attributes &attributes, const Window &window);
// "conv" -> "conv2d" for two axes.
std::string by_rank(const std::string &function, std::size_t axes);

} // namespace tilefuse::onnx_import
