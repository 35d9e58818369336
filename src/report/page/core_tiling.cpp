// SPDX-License-Identifier: Apache-2.0
#include "report/page/core_tiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedule/mma/core.h"

namespace tilefuse::report {
namespace {

using nest::IndexId;

std::string names_of(const nest::Nest &nest, const std::vector<IndexId> &indices) {
  std::vector<std::string> names;
  for (const IndexId i : indices)
    names.push_back(nest.indices[i].name);
  return fmt::format("{}", fmt::join(names, " "));
}

// Lane by point of a fragment; turned: rows of the fragment are columns of the tile.
std::vector<int> lanes_of(const Fragment &fragment, bool is_turned) {
  const int columns = is_turned ? fragment.rows : fragment.columns;
  std::vector<int> lanes(static_cast<std::size_t>(fragment.rows) *
                         static_cast<std::size_t>(fragment.columns));
  for (int lane = 0; lane < fragment.lanes(); ++lane)
    for (int value = 0; value < fragment.values(); ++value) {
      const Place at = place(fragment, lane, value);
      const int row = is_turned ? at.column : at.row;
      const int column = is_turned ? at.row : at.column;
      lanes[static_cast<std::size_t>(row * columns + column)] = lane;
    }
  return lanes;
}

} // namespace

std::optional<CoreTiling> core_tiling(const nest::Nest &nest, const schedule::Schedule &schedule) {
  if (!schedule::has_core(schedule))
    return std::nullopt;
  const schedule::Gemm gemm = schedule::gemm_of(nest, schedule);
  const CoreOp &op = *gemm.core().op;
  const bool is_swapped = gemm.core().swap_ab;
  const std::int64_t warp_rows = op.m * kCoreLanes / op.lanes();
  return CoreTiling{
      .instruction = std::string(op.name),
      .rows = names_of(nest, gemm.roles.pixels),
      .columns = names_of(nest, gemm.roles.channels),
      .whole = {gemm.roles.points, gemm.roles.channel_points},
      .tile = {gemm.tile.rows, gemm.tile.columns},
      .warp = {gemm.tile.warp_rows, gemm.tile.warp_columns},
      .atom = is_swapped ? TileSize{op.n, op.m} : TileSize{op.m, op.n},
      .atom_of_warp = is_swapped ? TileSize{op.n, warp_rows} : TileSize{warp_rows, op.n},
      .is_warpgroup = is_wgmma(op),
      .instances = schedule.roles.math.instances,
      .depth = gemm.tile.depth,
      .vec = schedule.splits[gemm.roles.channel].vec,
      .lanes = lanes_of(op.d, is_swapped),
  };
}

} // namespace tilefuse::report
