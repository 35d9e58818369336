// SPDX-License-Identifier: Apache-2.0
// How tensor copies (TMA) address the tiles of an input, and which tensors they can walk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::schedule {

using nest::IndexId;

// How a tensor lies to tensor copies, and what one of them brings; dimensions innermost first. What
// the fields say, and PTX's limits of them, stands at kernel::TensorMap.
struct TensorMap {
  std::string wrong = {}; // why there is none; the rest holds if empty
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims = {}, strides = {}, box = {}, lower = {}, upper = {}, steps = {};
  bool is_im2col() const { return !lower.empty(); }
};

// How copies of an operand's tiles address it.
struct TileMap : TensorMap {
  // The coordinate of a copy's first element in each dimension, by index; of pixels that are one
  // number it stands at the last of them. Of im2col what taps add to it, in each dimension but the
  // first and the last.
  std::vector<nest::Linear> place = {}, taps = {};
  // Of a window: where a pixel of the box lies for a tap, in rows of local memory.
  nest::Linear row = {};
  std::int64_t unit = 1;   // of a filter's last coordinate: channels that are dealt together
  std::int64_t panels = 1; // of a filter: boxes of a tile
  // A further dimension, of which a box has so many points; 0: who copies says how many.
  void add(std::int64_t points, std::int64_t stride, nest::Linear at, std::int64_t of_box = 0);
};
// Limits of tensor copies (CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col).
inline constexpr std::int64_t kMapAlign = 16; // bytes, of starts and strides
inline constexpr std::int64_t kMostRank = 5;
inline constexpr std::int64_t kMostBox = 256; // points that a box of pixels spans in a dimension
inline constexpr std::int64_t kMostStep = 8;  // from one pixel of a box to the next, or of an image
inline constexpr std::int64_t kMostSpatial = kMostRank - 2; // dimensions of an image

// Why no tensor copy brings the map's boxes of elements of `size` bytes: it says why itself, it has
// too many dimensions, or its boxes too many points or too long steps, or TMA cannot walk its
// strides and offset. The first stride is that of the contiguous dimension. Empty: one does.
std::string unfit(const TensorMap &map, std::int64_t size, std::string_view what);
// Copies start at every so many elements.
std::string misaligned(std::int64_t apart, std::int64_t size, std::string_view what);
// The map has no coordinate that the index moves as the operand's subscripts do.
std::string no_walk(const nest::Nest &nest, IndexId index, std::string_view what);
// Steps run over the end of so many points of depth, behind which others lie; empty: they end there.
std::string overrun(std::int64_t points, std::int64_t step);

// Whether one of the indices, of several points, moves the dimension.
bool moves(const nest::Dim &dim, const std::vector<IndexId> &indices, const nest::Nest &nest);

// An input whose runs of its contiguous index start at every so many elements of one dimension, as
// rows of taps do: as a dimension of runs, which overlap, and one of a run's elements.
nest::Operand part_runs(const nest::Nest &nest, nest::Operand operand, IndexId along,
                        const std::vector<IndexId> &pixels, const std::vector<IndexId> &taps);

} // namespace tilefuse::schedule
