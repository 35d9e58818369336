// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_window.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "base/divide.h"
#include "base/index.h"
#include "base/range.h"
#include "schedule/mma/core_pipes.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

// The first index of the box beside the fastest with several pixels: its place, or -1.
std::ptrdiff_t next_index(const PixelBox &box) {
  auto place = static_cast<std::ptrdiff_t>(box.sizes.size()) - 2;
  while (place >= 0 && box.sizes[at(place)] == 1)
    --place;
  return place;
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

} // namespace

std::int64_t window_rows(const Gemm &gemm) {
  const TileMap map = data_map(gemm);
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
  return panels * round_up(bytes, kBoxAlign) / gemm.tile.elem_bytes;
}

std::int64_t halo_elems(const Gemm &gemm) {
  const std::int64_t bytes = gemm.halo_rows() * gemm.panel * gemm.tile.elem_bytes;
  return round_up(bytes, kBoxAlign) / gemm.tile.elem_bytes;
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
    return {};
  if (Reason reason = wrong_pipes(gemm))
    return reason;
  const PixelBox box = pixel_box(gemm);
  const TileMap map = data_map(gemm);
  if (!map.wrong.empty())
    return map.wrong;
  const std::int64_t lines = window_unit(gemm.schedule) / kWindowPixels; // of an instruction
  const std::ptrdiff_t next = next_index(box);
  return outside({{"halo.pixels", box.sizes.back(), kWindowPixels, kWindowPixels},
                  {"halo.stride", map.row.coeff[at(box.indices.back())], 1, 1},
                  {"box.lines", next < 0 ? 1 : box.sizes[at(next)], lines, kNoEnd, lines}});
}

} // namespace tilefuse::schedule
