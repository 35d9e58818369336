// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma_panels.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/wgmma_maps.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kMostStoreBytes = 4096; // of a warp
constexpr std::int64_t kLeastRowBytes = 32;
constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kPairs = 2; // vec of columns as the instruction leaves them
constexpr std::int64_t kGroupRows = 64;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t run_of(const Nest &nest, const Schedule &schedule) {
  return schedule.splits[at(core_roles(nest, schedule).channel)].vec;
}

} // namespace

std::int64_t panel_columns(const Nest &nest, const Schedule &schedule, std::int64_t elem_bytes) {
  const std::int64_t vec = run_of(nest, schedule);
  return vec == kPairs ? kPanelBytes / elem_bytes : 4 * vec;
}

StorePanel store_panel(const Nest &nest, const Schedule &schedule) {
  const std::int64_t size = size_bytes(nest.slots[at(nest.out.slot)].type);
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

std::optional<std::string> wrong_store(const Nest &nest, const Schedule &schedule,
                                       const CoreRoles &roles) {
  if (!schedule.core.tensor_store)
    return {};
  const StorePanel panel = store_panel(nest, schedule);
  const std::optional<std::int64_t> row = matrix_stride(nest, nest.out, roles);
  if (roles.data_turned || roles.channels.size() != 1 ||
      column_plan(nest, schedule).products != 1 || has_box(nest, schedule) || !row)
    return "results that leave in boxes need to lie as one matrix";
  const std::int64_t offset = nest::flat(nest.out, nest.indices.size()).constant;
  if (std::string wrong = misaligned({1, *row}, offset, panel.elem_bytes, "result"); !wrong.empty())
    return wrong;
  if (!is_panel(nest, schedule, panel.columns, panel.elem_bytes))
    return fmt::format("runs of {} of {} columns leave in no boxes", run_of(nest, schedule),
                       core_tile(nest, schedule).warp_columns);
  return {};
}

} // namespace tilefuse::schedule
