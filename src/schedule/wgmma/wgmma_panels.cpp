// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_panels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kMostStoreBytes = 4096; // of a warp
constexpr std::int64_t kLeastRowBytes = 32;
constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kPairs = 2; // vec of columns as the instruction leaves them
constexpr std::int64_t kGroupRows = 64;
constexpr std::size_t kMostSpatial = 3; // dimensions of an image

std::int64_t run_of(const Nest &nest, const Schedule &schedule) {
  return schedule.splits[at(core_roles(nest, schedule).channel)].vec;
}

} // namespace

std::int64_t panel_columns(const Nest &nest, const Schedule &schedule, std::int64_t elem_bytes) {
  const std::int64_t vec = run_of(nest, schedule);
  return vec == kPairs ? kPanelBytes / elem_bytes : 4 * vec;
}

StorePanel store_panel(const Nest &nest, const Schedule &schedule) {
  const std::int64_t size = size_bytes(type_of(nest, nest.out));
  StorePanel panel{.columns = panel_columns(nest, schedule, size), .elem_bytes = size};
  const CoreTile tile = core_tile(nest, schedule);
  const std::int64_t of_tile = tile.warp_rows / kGroupRows * (tile.warp_columns / panel.columns);
  panel.boxes = std::min(of_tile, kMostStoreBytes / (panel.elems() * size));
  while (panel.boxes > 1 && of_tile % panel.boxes != 0)
    --panel.boxes;
  return panel;
}

bool is_panel(const Nest &nest, const Schedule &schedule, std::int64_t columns,
              std::int64_t elem_bytes) {
  const std::int64_t vec = run_of(nest, schedule);
  const std::int64_t row_bytes = columns * elem_bytes;
  return row_bytes >= kLeastRowBytes && row_bytes <= kPanelBytes &&
         vec * elem_bytes <= kChunkBytes && (vec != kPairs || elem_bytes == 2) &&
         core_tile(nest, schedule).warp_columns % columns == 0;
}

std::optional<std::int64_t> matrix_stride(const Nest &nest, const nest::Operand &operand,
                                          const CoreRoles &roles) {
  const nest::Linear flat = nest::flat(operand, nest.indices.size());
  if (flat.coeff[at(roles.channel)] != 1)
    return {};
  std::int64_t stride = 0, next = 0;
  for (auto i = roles.pixels.rbegin(); i != roles.pixels.rend(); ++i) {
    const std::int64_t extent = nest.indices[at(*i)].extent;
    if (extent == 1)
      continue;
    if (next != 0 && flat.coeff[at(*i)] != next)
      return {};
    stride = next == 0 ? flat.coeff[at(*i)] : stride;
    next = extent * flat.coeff[at(*i)];
  }
  return next == 0 ? std::nullopt : std::optional(stride);
}

DataMap result_map(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const nest::Linear flat = nest::flat(nest.out, nest.indices.size());
  DataMap map{.offset = flat.constant, .dims = {roles.channel_points}, .strides = {1}};
  const std::size_t spatial = roles.pixels.size() - 1;
  if (const std::optional<std::int64_t> row = matrix_stride(nest, nest.out, roles)) {
    map.dims.push_back(roles.points);
    map.strides.push_back(*row);
  } else if (flat.coeff[at(roles.channel)] != 1 || spatial < 1 || spatial > kMostSpatial) {
    map.wrong = "results that leave in boxes need to lie as one matrix or image";
  } else {
    map.pixels.assign(roles.pixels.rbegin(), roles.pixels.rend());
    for (const int i : map.pixels) {
      map.dims.push_back(nest.indices[at(i)].extent);
      map.strides.push_back(flat.coeff[at(i)]);
    }
    map.lower.assign(spatial, 0);
    map.upper.assign(spatial, 0);
    map.steps.assign(spatial, 1);
  }
  if (map.wrong.empty())
    map.wrong = misaligned(map.strides, map.offset, size_bytes(type_of(nest, nest.out)), "result");
  return map;
}

std::optional<std::string> wrong_store(const Nest &nest, const Schedule &schedule,
                                       const CoreRoles &roles) {
  if (!schedule.core.tensor_store)
    return {};
  const StorePanel panel = store_panel(nest, schedule);
  if (roles.data_turned || roles.channels.size() != 1 ||
      column_plan(nest, schedule).products != 1 || has_box(nest, schedule))
    return "results that leave in boxes need to lie as one matrix or image";
  const DataMap map = result_map(nest, schedule);
  if (!map.wrong.empty())
    return map.wrong;
  // Of 108 channels in boxes of 64, an H200 writes what is beyond them too, where an image has
  // gaps.
  const std::int64_t whole = map.is_im2col() ? panel.columns : kChunkBytes / panel.elem_bytes;
  if (roles.channel_points % whole != 0)
    return fmt::format("{} channels are not cut into whole runs of {}, to leave in boxes",
                       roles.channel_points, whole);
  if (!is_panel(nest, schedule, panel.columns, panel.elem_bytes))
    return fmt::format("runs of {} of {} columns leave in no boxes", run_of(nest, schedule),
                       core_tile(nest, schedule).warp_columns);
  return {};
}

} // namespace tilefuse::schedule
