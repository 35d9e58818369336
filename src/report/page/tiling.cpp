// SPDX-License-Identifier: Apache-2.0
#include "report/page/tiling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nest/index.h"
#include "schedule/blocks.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::report {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Schedule;

std::int64_t blocks_along(const Nest &nest, const Schedule &schedule, IndexId index) {
  const std::int64_t points = schedule.splits[index].of_block();
  return (extent(nest, index) + points - 1) / points;
}

// The dimension of an operand that moves with an index, if one does.
const nest::Dim *dim_of(const nest::Operand &operand, IndexId index) {
  for (const nest::Dim &dim : operand.dims)
    if (dim.at.coeff[index] != 0)
      return &dim;
  return nullptr;
}

// Points of a dimension that a block reads.
std::int64_t window_of(const Nest &nest, const Schedule &schedule, const nest::Dim &dim) {
  std::int64_t points = 1;
  for (const IndexId i : nest.indices.ids()) {
    const std::int64_t all = extent(nest, i);
    const std::int64_t inside =
        is_output(nest, i) ? std::min(all, schedule.splits[i].of_block()) : all;
    points += std::abs(dim.at.coeff[i]) * (inside - 1);
  }
  return points;
}

TiledIndex tiled(const Nest &nest, const Schedule &schedule, IndexId index, int input) {
  TiledIndex result{.name = nest.indices[index].name,
                    .extent = extent(nest, index),
                    .split = schedule.splits[index],
                    .blocks = blocks_along(nest, schedule, index)};
  if (input < 0)
    return result;
  if (const nest::Dim *dim = dim_of(nest.inputs[at(input)], index)) {
    result.window = window_of(nest, schedule, *dim);
    result.input_size = dim->size;
    result.input_step = std::abs(dim->at.coeff[index]);
  }
  return result;
}

// The last of the inputs that are no constants of a weight's kind, whose windows are of interest.
int windowed_input(const Nest &nest, IndexId rows, IndexId columns) {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (!nest.inputs[k].constant && (moves(nest.inputs[k], rows) || moves(nest.inputs[k], columns)))
      return static_cast<int>(k);
  return -1;
}

// Points of all pixels and channels of one product, in tiles.
TiledIndex tiled_points(const std::string &name, std::int64_t extent, std::int64_t tile) {
  return {.name = name,
          .extent = extent,
          .split = {.tile = tile},
          .blocks = (extent + tile - 1) / std::max<std::int64_t>(1, tile)};
}

// The two indices of a box of pixels that are cut most; one where it has no other.
std::vector<IndexId> boxed(const schedule::PixelBox &box) {
  const std::size_t last = box.indices.size() - 1;
  return last == 0 ? std::vector{box.indices[0]}
                   : std::vector{box.indices[last - 1], box.indices[last]};
}

// Output indices: the two that blocks cut most.
std::vector<IndexId> cut_most(const Nest &nest, const Schedule &schedule) {
  std::vector<IndexId> order;
  for (const IndexId i : output_indices(nest))
    order.push_back(i);
  const auto rank = [&](IndexId i) {
    return std::pair(schedule.splits[i].of_block() > 1 ? 1 : 0, extent(nest, i));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](IndexId a, IndexId b) { return rank(a) > rank(b); });
  order.resize(std::min<std::size_t>(order.size(), 2));
  std::sort(order.begin(), order.end());
  return order;
}

} // namespace

std::int64_t TiledIndex::lane_of(std::int64_t point) const {
  return point / split.lane_stride() % std::max<std::int64_t>(1, split.lane);
}

std::int64_t TiledIndex::copy_of(std::int64_t point) const {
  return point / split.copy_stride() % std::max<std::int64_t>(1, split.keep);
}

Tiling tiling(const Nest &nest, const Schedule &schedule) {
  Tiling result{.rows = {}, .columns = {}, .blocks = schedule::blocks(nest, schedule)};
  result.core = core_tiling(nest, schedule);
  const bool is_boxed = result.core && schedule::has_box(schedule::gemm_of(nest, schedule));
  if (result.core && !is_boxed) {
    const CoreTiling &core = *result.core;
    result.rows = tiled_points(core.rows, core.whole.rows, core.tile.rows);
    result.columns = tiled_points(core.columns, core.whole.columns, core.tile.columns);
    return result;
  }
  const std::vector<IndexId> order =
      is_boxed ? boxed(schedule::pixel_box(schedule::gemm_of(nest, schedule)))
               : cut_most(nest, schedule);
  if (order.empty())
    return result;
  result.input = windowed_input(nest, order.front(), order.back());
  result.columns = tiled(nest, schedule, order.back(), result.input);
  if (order.size() > 1)
    result.rows = tiled(nest, schedule, order.front(), result.input);
  return result;
}

} // namespace tilefuse::report
