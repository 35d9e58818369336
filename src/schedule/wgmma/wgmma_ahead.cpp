// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_ahead.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::size_t kMostDims = 5; // of a tensor map

// A tile's rows as a box of the operand: of points as one number, or of the pixel indices.
std::optional<AheadOperand> with_rows(const Nest &nest, const Schedule &schedule,
                                      const CoreRoles &roles, AheadOperand operand) {
  const nest::Operand &extra = nest.extras[at(operand.extra)];
  const nest::Linear flat = nest::flat(extra, nest.indices.size());
  operand.offset = flat.constant;
  operand.dims = {roles.channel_points};
  operand.strides = {1};
  operand.box = {operand.columns};
  const auto add = [&](std::int64_t size, std::int64_t stride, std::int64_t rows) {
    operand.dims.push_back(size);
    operand.strides.push_back(stride);
    operand.box.push_back(rows);
  };
  if (!has_box(nest, schedule)) {
    const std::optional<std::int64_t> stride = matrix_stride(nest, extra, roles);
    if (!stride)
      return {};
    add(roles.points, *stride, schedule.core.rows);
    return operand;
  }
  const PixelBox box = pixel_box(nest, schedule);
  for (std::size_t i = box.indices.size(); i-- > 0;) {
    const int index = box.indices[i];
    const std::int64_t extent = nest.indices[at(index)].extent;
    if (extent == 1 && box.sizes[i] == 1)
      continue;
    add(extent, flat.coeff[at(index)], box.sizes[i]);
    operand.indices.push_back(index);
  }
  const bool is_rising = std::all_of(operand.strides.begin(), operand.strides.end(),
                                     [](std::int64_t stride) { return stride > 0; });
  return is_rising && !operand.indices.empty() && operand.dims.size() <= kMostDims &&
                 flat.coeff[at(roles.channel)] == 1
             ? std::optional(operand)
             : std::nullopt;
}

} // namespace

std::vector<AheadOperand> ahead_operands(const Nest &nest, const Schedule &schedule) {
  std::vector<AheadOperand> found;
  const CoreRoles roles = core_roles(nest, schedule);
  const Core &core = schedule.core;
  if (core.gathers || roles.data_turned || roles.channels.size() != 1 || core.cluster_parts > 1 ||
      column_plan(nest, schedule).products != 1 || row_blocks(nest, schedule).used > 1)
    return found;
  for (std::size_t i = 0; i < nest.extras.size(); ++i) {
    const std::int64_t size = size_bytes(type_of(nest, nest.extras[i]));
    const std::int64_t columns =
        exchanges(nest, schedule) ? kPanelColumns : panel_columns(nest, schedule, size);
    if (!is_panel(nest, schedule, columns, size))
      continue;
    auto operand = with_rows(nest, schedule, roles, {static_cast<int>(i), columns, size});
    if (operand && misaligned(operand->strides, operand->offset, size, "operand").empty())
      found.push_back(*std::move(operand));
  }
  return found;
}

std::int64_t ahead_bytes(const Nest &nest, const Schedule &schedule) {
  if (schedule.core.ahead == 0)
    return 0;
  const CoreTile tile = core_tile(nest, schedule);
  std::int64_t bytes = 0;
  for (const AheadOperand &operand : ahead_operands(nest, schedule))
    bytes += tile.rows * tile.columns * operand.elem_bytes;
  return schedule.core.ahead * bytes;
}

std::optional<std::string> wrong_ahead(const Nest &nest, const Schedule &schedule) {
  const Core &core = schedule.core;
  if (core.ahead == 0)
    return {};
  if (core.ahead != 1 && core.ahead != core.turns)
    return fmt::format("{} buffers of operands for {} turns; it needs 1 or as many", core.ahead,
                       core.turns);
  if (!ahead_operands(nest, schedule).empty())
    return {};
  return "no operand of post-ops lies as results do, to be fetched ahead";
}

} // namespace tilefuse::schedule
