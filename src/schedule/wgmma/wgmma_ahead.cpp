// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_ahead.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

// A tile's rows as a box of the operand: of points as one number, or of the pixel indices.
std::optional<AheadOperand> with_rows(const Gemm &gemm, AheadOperand operand) {
  const nest::Operand &extra = gemm.nest.extras[at(operand.extra)];
  const nest::Linear flat = nest::flat(extra, gemm.nest.indices.size());
  operand.offset = flat.constant;
  operand.dims = {gemm.roles.channel_points};
  operand.strides = {1};
  operand.box = {operand.columns};
  const auto add = [&](std::int64_t size, std::int64_t stride, std::int64_t rows) {
    operand.dims.push_back(size);
    operand.strides.push_back(stride);
    operand.box.push_back(rows);
  };
  if (!has_box(gemm)) {
    const std::optional<std::int64_t> stride = matrix_stride(gemm.nest, extra, gemm.roles);
    if (!stride)
      return {};
    add(gemm.roles.points, *stride, gemm.core().rows);
    return operand;
  }
  const PixelBox box = pixel_box(gemm);
  for (std::size_t i = box.indices.size(); i-- > 0;) {
    const IndexId index = box.indices[i];
    const std::int64_t extent = gemm.nest.indices[at(index)].extent;
    if (extent == 1 && box.sizes[i] == 1)
      continue;
    add(extent, flat.coeff[at(index)], box.sizes[i]);
    operand.indices.push_back(index);
  }
  const bool is_rising = std::all_of(operand.strides.begin(), operand.strides.end(),
                                     [](std::int64_t stride) { return stride > 0; });
  return is_rising && !operand.indices.empty() && flat.coeff[at(gemm.roles.channel)] == 1
             ? std::optional(operand)
             : std::nullopt;
}

} // namespace

std::vector<AheadOperand> ahead_operands(const Gemm &gemm) {
  std::vector<AheadOperand> found;
  const bool spreads = has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) > 0;
  if (spreads || gemm.roles.data_turned || gemm.roles.channels.size() != 1 ||
      gemm.schedule.tiles.split_k > 1 || column_plan(gemm).products != 1 || gemm.row.used > 1)
    return found;
  for (std::size_t i = 0; i < gemm.nest.extras.size(); ++i) {
    const std::int64_t size = size_bytes(type_of(gemm.nest, gemm.nest.extras[i]));
    const std::int64_t columns = exchanges(gemm) ? kPanelColumns : panel_columns(gemm, size);
    if (!is_panel(gemm, columns, size))
      continue;
    auto operand = with_rows(gemm, {{}, static_cast<int>(i), columns, size});
    if (operand && beyond_limits(*operand).empty() &&
        misaligned(operand->strides, operand->offset, size, "operand").empty())
      found.push_back(*std::move(operand));
  }
  return found;
}

std::optional<std::string> wrong_ahead(const Gemm &gemm) {
  if (gemm.schedule.extra.stages == 0 || !ahead_operands(gemm).empty())
    return {};
  return "no operand of post-ops lies as results do, to be fetched ahead";
}

} // namespace tilefuse::schedule
