// SPDX-License-Identifier: Apache-2.0
// How tensor copies (TMA) address the tiles of an input, and which tensors they can walk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "target/tensor_map.h"

namespace tilefuse::schedule {

using nest::IndexId;

// How copies of an operand's tiles address it.
struct TileMap : TensorMap {
  std::string wrong = {}; // why there is none; the rest holds if empty
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
// Why no tensor copy brings the map's boxes of elements of `size` bytes: it says why itself, or TMA
// cannot (target/tensor_map.h). Empty: one does.
std::string unfit(const TileMap &map, std::int64_t size, std::string_view what);
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
