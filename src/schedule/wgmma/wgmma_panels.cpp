// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_parts.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kMostStoreBytes = 4096; // of a warp
constexpr std::int64_t kLeastRowBytes = 32;
constexpr std::int64_t kChunkBytes = 16;
constexpr std::string_view kNoMatrix =
    "results that leave in boxes need to lie as one matrix or image";

// Columns of a warp's results that this block stores.
std::int64_t stored_columns(const Gemm &gemm) {
  return gemm.tile.warp_columns / part_slices(gemm.schedule).columns;
}

std::int64_t run_of(const Gemm &gemm) { return gemm.schedule.splits[at(gemm.roles.channel)].vec; }

} // namespace

std::int64_t panel_columns(const Gemm &gemm, std::int64_t elem_bytes) {
  const std::int64_t vec = run_of(gemm);
  return vec == kPairs ? kPanelBytes / elem_bytes : 4 * vec;
}

StorePanel store_panel(const Gemm &gemm) {
  const std::int64_t size = size_bytes(type_of(gemm.nest, gemm.nest.out));
  StorePanel panel{.rows = kPanelRows / part_slices(gemm.schedule).halves,
                   .columns = panel_columns(gemm, size),
                   .elem_bytes = size};
  const std::int64_t of_tile = std::max<std::int64_t>(
      1, gemm.tile.warp_rows / kGroupRows * (stored_columns(gemm) / panel.columns));
  panel.boxes = std::min(of_tile, kMostStoreBytes / (panel.elems() * size));
  while (panel.boxes > 1 && of_tile % panel.boxes != 0)
    --panel.boxes;
  return panel;
}

bool is_panel(const Gemm &gemm, std::int64_t columns, std::int64_t elem_bytes) {
  const std::int64_t vec = run_of(gemm);
  const std::int64_t row_bytes = columns * elem_bytes;
  return row_bytes >= kLeastRowBytes && row_bytes <= kPanelBytes &&
         vec * elem_bytes <= kChunkBytes && (vec != kPairs || elem_bytes == 2) &&
         stored_columns(gemm) % columns == 0;
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

DataMap result_map(const Gemm &gemm) {
  const nest::Linear flat = nest::flat(gemm.nest.out, gemm.nest.indices.size());
  DataMap map{{.offset = flat.constant, .dims = {gemm.roles.channel_points}, .strides = {1}}};
  const std::int64_t spatial = std::ssize(gemm.roles.pixels) - 1;
  if (const std::optional<std::int64_t> row = matrix_stride(gemm.nest, gemm.nest.out, gemm.roles)) {
    map.dims.push_back(gemm.roles.points);
    map.strides.push_back(*row);
  } else if (flat.coeff[at(gemm.roles.channel)] != 1 || spatial < 1 || spatial > kMostSpatial) {
    map.wrong = kNoMatrix;
  } else {
    map.pixels.assign(gemm.roles.pixels.rbegin(), gemm.roles.pixels.rend());
    for (const std::optional<IndexId> i : map.pixels) {
      map.dims.push_back(extent(gemm.nest, *i));
      map.strides.push_back(flat.coeff[*i]);
    }
    map.lower.assign(at(spatial), 0);
    map.upper.assign(at(spatial), 0);
    map.steps.assign(at(spatial), 1);
  }
  if (map.wrong.empty())
    map.wrong = misaligned(map.strides, map.offset, size_bytes(type_of(gemm.nest, gemm.nest.out)),
                           "result");
  return map;
}

std::optional<std::string> wrong_store(const Gemm &gemm) {
  if (gemm.schedule.store != Store::Tma)
    return {};
  const StorePanel panel = store_panel(gemm);
  if (gemm.roles.data_turned || gemm.roles.channels.size() != 1 ||
      column_plan(gemm).products != 1 || has_box(gemm))
    return std::string(kNoMatrix);
  const DataMap map = result_map(gemm);
  if (!map.wrong.empty())
    return map.wrong;
  // Of 108 channels in boxes of 64, an H200 writes what is beyond them too, where an image has
  // gaps.
  const std::int64_t whole = map.is_im2col() ? panel.columns : kChunkBytes / panel.elem_bytes;
  if (gemm.roles.channel_points % whole == 0 && is_panel(gemm, panel.columns, panel.elem_bytes))
    return {};
  return fmt::format("{} channels leave in no boxes by runs of {} of {} columns; boxes hold "
                     "multiples of {}, in rows of {} to {} bytes",
                     gemm.roles.channel_points, run_of(gemm), gemm.tile.warp_columns, whole,
                     kLeastRowBytes, kPanelBytes);
}

} // namespace tilefuse::schedule
