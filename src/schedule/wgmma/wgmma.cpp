// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/index.h"
#include "schedule/range.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kMostCluster = 4; // blocks that share tiles
constexpr std::int64_t kMostParts = 8;   // blocks of a cluster on every device that has clusters

// Channels that are dealt together: digits of FilterMap.
std::int64_t dealt(const Gemm &gemm) {
  const std::int64_t vec = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  if (gemm.core().swap_ab)
    return vec == 1 ? 1 : kHalfRows * vec;
  return vec == kPairs ? 1 : 4 * vec;
}

// Points that blocks of a cluster share in whole units each.
Range shared(std::string_view what, std::int64_t points, std::int64_t blocks, std::int64_t unit) {
  return {what, points, 0, kNoEnd, blocks > 1 ? blocks * unit : 1};
}

bool divides(std::int64_t count, std::int64_t most) { return count >= 1 && most % count == 0; }

} // namespace

std::optional<std::string> wrong_order(const Gemm &gemm) {
  const TileOrder &tiles = gemm.schedule.tiles;
  if (!divides(tiles.cluster_m, kMostCluster) || !divides(tiles.cluster_n, kMostCluster) ||
      !divides(tiles.cluster_m * tiles.cluster_n, kMostCluster))
    return fmt::format("clusters of {} x {} blocks; it needs 1, 2 or {} that share tiles",
                       tiles.cluster_m, tiles.cluster_n, kMostCluster);
  if (!divides(tiles.split_k, kMostParts))
    return fmt::format("{} blocks of a cluster add parts of a tile; it needs 1, 2, 4 or {}",
                       tiles.split_k, kMostParts);
  // Slices of shared tiles are of whole groups of rows that are exchanged together, of a whole number
  // of columns that are dealt together, or of panels; slices of parts of columns stored together.
  const bool in_panels = gemm.roles.data_turned;
  const std::int64_t panel = kPanelBytes / gemm.tile.elem_bytes;
  const bool cuts_columns = in_panels || !gemm.roles.filter_turned;
  return outside(
      {{"persistent", tiles.persistent, 0, kNoEnd, tiles.cluster()},
       {"split_k", tiles.split_k, 1, core_steps(gemm)},
       shared("instruction.columns", gemm.core().op->n, part_slices(gemm.schedule).columns,
              joined_columns(gemm)),
       shared("cluster.rows", gemm.tile.rows, tiles.cluster_n, in_panels ? panel : kSwizzleRows),
       shared("cluster.columns", gemm.tile.columns, cuts_columns ? tiles.cluster_m : 1,
              in_panels ? panel : std::max(kSwizzleRows, dealt(gemm)))});
}

// Points past the end of a part are another's: one of the inputs must end with it.
std::optional<std::string> wrong_tensor_copies(const Gemm &gemm) {
  if (!is_wgmma(*gemm.core().op))
    return {};
  const DataMap data = data_map(gemm);
  if (!data.wrong.empty())
    return data.wrong;
  const bool is_turned = gemm.roles.data_turned;
  const DataMap turned = is_turned ? turned_filter_map(gemm) : DataMap{};
  std::string wrong = is_turned ? turned.wrong : filter_map(gemm).wrong;
  // Where the depth is no dimension of its own, what follows a part's is another's.
  const bool ends = is_turned ? !data.is_im2col() || !turned.is_im2col()
                              : !data.is_im2col() && data.place.empty();
  if (wrong.empty() && !ends && column_plan(gemm).products > 1)
    wrong = overrun(gemm.roles.depth_points, gemm.tile.depth);
  return wrong.empty() ? Reason{} : wrong;
}

} // namespace tilefuse::schedule
