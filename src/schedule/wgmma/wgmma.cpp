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

// What blocks of a cluster divide among them: a number of points, in whole units.
struct Cut {
  std::string_view what;
  std::int64_t points, blocks, unit;
};

// Channels that are dealt together: digits of FilterMap.
std::int64_t dealt(const Gemm &gemm) {
  const std::int64_t vec = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  if (gemm.core().swap_ab)
    return vec == 1 ? 1 : kHalfRows * vec;
  return vec == kPairs ? 1 : 4 * vec;
}

// Slices of shared tiles are of whole groups of rows that are exchanged together, of a whole number
// of columns that are dealt together, or of panels; slices of parts of columns stored together.
std::vector<Cut> cuts(const Gemm &gemm) {
  const TileOrder &tiles = gemm.schedule.tiles;
  const CoreTile &tile = gemm.tile;
  const bool in_panels = gemm.roles.data_turned;
  const std::int64_t panel = kPanelBytes / tile.elem_bytes;
  std::vector<Cut> cuts = {{"columns of an instruction", gemm.core().op->n,
                            part_slices(gemm.schedule).columns, joined_columns(gemm)},
                           {"rows", tile.rows, tiles.cluster_n, in_panels ? panel : kSwizzleRows}};
  if (in_panels || !gemm.roles.filter_turned)
    cuts.push_back({"columns", tile.columns, tiles.cluster_m,
                    in_panels ? panel : std::max(kSwizzleRows, dealt(gemm))});
  return cuts;
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
  if (tiles.persistent < 0 || tiles.persistent % tiles.cluster() != 0)
    return fmt::format("{} persistent blocks; it needs whole clusters of {}", tiles.persistent,
                       tiles.cluster());
  if (Reason reason = outside({"split_k", tiles.split_k, 1, core_steps(gemm)}))
    return reason;
  for (const Cut &cut : cuts(gemm))
    if (cut.blocks > 1 && cut.points % (cut.blocks * cut.unit) != 0)
      return fmt::format("{} {} are not shared by {} blocks of a cluster in units of {}",
                         cut.points, cut.what, cut.blocks, cut.unit);
  return {};
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
