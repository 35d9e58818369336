// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "base/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_boxes.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kGroupRows = 64; // of one instruction
constexpr int kMostWindows = 8;
constexpr std::int64_t kMostKept = 48; // steps, which have mbarriers each

// The first index of the box beside the fastest with several pixels: its place, or -1.
std::ptrdiff_t next_index(const PixelBox &box) {
  auto place = static_cast<std::ptrdiff_t>(box.sizes.size()) - 2;
  while (place >= 0 && box.sizes[at(place)] == 1)
    --place;
  return place;
}

std::int64_t taps_of(const Nest &nest, const CoreRoles &roles) {
  std::int64_t taps = 1;
  for (const IndexId i : roles.walked)
    taps *= nest.indices[at(i)].extent;
  return taps;
}

// What taps add to a pixel index: the least, and from there to the most.
struct Reach {
  std::int64_t lowest = 0;
  std::int64_t span = 0;
};
Reach reach_of(const Nest &nest, const CoreRoles &roles, IndexId pixel) {
  Reach reach;
  for (const nest::Dim &dim : nest.inputs[at(roles.data)].dims)
    for (const IndexId i : roles.walked)
      if (dim.at.coeff[at(pixel)] != 0) {
        const std::int64_t moved = dim.at.coeff[at(i)] * (nest.indices[at(i)].extent - 1);
        reach.lowest += std::min<std::int64_t>(0, moved);
        reach.span += std::abs(moved);
      }
  return reach;
}

Reason wrong_kept_filter(const Gemm &gemm) {
  const TileGrid grid = tile_grid(gemm);
  const std::int64_t steps = core_steps(gemm);
  if (grid.columns != 1 || grid.products != 1)
    return "a filter of several tiles is not kept";
  if (steps > kMostKept)
    return fmt::format("a filter of {} steps is not kept; at most {}", steps, kMostKept);
  return step_stages(gemm.schedule) == steps
             ? Reason{}
             : fmt::format("a ring of {} buffers keeps no filter of {}", step_stages(gemm.schedule),
                           steps);
}

} // namespace

std::int64_t window_rows(const Gemm &gemm) {
  const DataMap map = data_map(gemm);
  if (map.box.empty())
    return 0;
  return std::accumulate(map.box.begin() + 1, map.box.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t lowest_tap(const Gemm &gemm, IndexId pixel) {
  return reach_of(gemm.nest, gemm.roles, pixel).lowest;
}

PixelBox window_box(const Gemm &gemm) {
  PixelBox box = pixel_box(gemm);
  for (std::size_t i = 0; i < box.indices.size(); ++i)
    box.sizes[i] += reach_of(gemm.nest, gemm.roles, box.indices[i]).span;
  return box;
}

std::int64_t window_elems(const Gemm &gemm) {
  const std::int64_t row = ring_row_bytes(gemm);
  const std::int64_t bytes = window_rows(gemm) * row;
  const std::int64_t panels = gemm.tile.row_bytes() / row;
  return panels * ((bytes + kBoxAlign - 1) / kBoxAlign * kBoxAlign) / gemm.tile.elem_bytes;
}

std::int64_t window_unit(const Schedule &schedule) {
  return schedule.core.swap_ab ? schedule.core.op->n : kGroupRows;
}

std::int64_t window_lines(const Gemm &gemm) {
  const PixelBox box = pixel_box(gemm);
  const std::ptrdiff_t next = next_index(box);
  return next < 0 ? kWindowPixels : data_map(gemm).row.coeff[at(box.indices[at(next)])];
}

std::optional<std::string> wrong_window(const Gemm &gemm) {
  if (halo_stages(gemm.schedule) == 0)
    return has_resident(gemm.schedule) ? Reason("a filter is kept beside windows alone") : Reason{};
  if (halo_stages(gemm.schedule) < 0 || halo_stages(gemm.schedule) > kMostWindows)
    return fmt::format("{} windows; it needs 1 to {}", halo_stages(gemm.schedule), kMostWindows);
  if ((has_loading_warps(gemm.schedule) && gemm.schedule.producers.empty()) ||
      gemm.roles.data_turned || !has_box(gemm))
    return "a window is of boxes of straight data that no warps gather";
  if (gemm.schedule.tiles.cluster() > 1)
    return "blocks of a cluster share no windows";
  const PixelBox box = pixel_box(gemm);
  const DataMap map = data_map(gemm);
  if (!map.wrong.empty())
    return map.wrong;
  const nest::Linear &row = map.row;
  if (box.sizes.back() != kWindowPixels || row.coeff[at(box.indices.back())] != 1)
    return fmt::format("{} pixels along {}, {} apart; a window needs {} neighbours",
                       box.sizes.back(), gemm.nest.indices[at(box.indices.back())].name,
                       row.coeff[at(box.indices.back())], kWindowPixels);
  const std::int64_t lines = window_unit(gemm.schedule) / kWindowPixels;
  const std::ptrdiff_t next = next_index(box);
  const std::int64_t size = next < 0 ? 1 : box.sizes[at(next)];
  if (size % lines != 0)
    return fmt::format("{} lines of a box are not whole instructions of {}", size, lines);
  if (!has_resident(gemm.schedule))
    return {};
  // What a group waits for in a buffer must not be two phases ahead, nor one of the other's.
  // Warps that map have been through all buffers before, where it is one group that does.
  const std::int64_t of_tile = core_steps(gemm) / taps_of(gemm.nest, gemm.roles);
  const bool is_in_order = !gemm.schedule.producers.empty() &&
                           gemm.schedule.roles.transform.groups < 2 &&
                           !has_loading_warps(gemm.schedule);
  if (gemm.schedule.roles.math.instances > 1 &&
      (is_in_order
           ? halo_stages(gemm.schedule) <= of_tile
           : halo_stages(gemm.schedule) % (gemm.schedule.roles.math.instances * of_tile) != 0))
    return fmt::format("{} windows for {} groups that multiply at once, {} a tile",
                       halo_stages(gemm.schedule), gemm.schedule.roles.math.instances, of_tile);
  return wrong_kept_filter(gemm);
}

} // namespace tilefuse::schedule
