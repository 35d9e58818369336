// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_gather.h"

#include <fmt/format.h>

#include "base/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

constexpr int kLeastRing = 3;          // a buffer that is filled, one behind it, one that is read
constexpr std::int64_t kMostRuns = 16; // whose places a work-item keeps

} // namespace

std::optional<std::string> wrong_gather(const Gemm &gemm) {
  if (!has_loading_warps(gemm.schedule))
    return {};
  if (gemm.schedule.tiles.cluster_m * gemm.schedule.tiles.cluster_n > 1)
    return "asynchronous copies reach the local memory of one block alone";
  if (halo_stages(gemm.schedule) > 0 && has_resident(gemm.schedule) &&
      !gemm.schedule.producers.empty())
    return {}; // what a copy spreads (schedule/wgmma/wgmma_spread.h)
  if (gemm.roles.data_turned || has_box(gemm))
    return "warps gather straight data that is numbered, not boxes";
  if (step_stages(gemm.schedule) < kLeastRing)
    return fmt::format("a ring of {} buffers that warps fill; it needs {}",
                       step_stages(gemm.schedule), kLeastRing);
  const std::int64_t each = core_copy_elems(gemm, gemm.roles.data);
  if (each == 0)
    return "the data has no aligned runs of 4 bytes along the depth";
  const std::int64_t runs = gemm.tile.depth / each;
  if (kGroupItems % runs != 0 || gemm.tile.rows * runs % kGroupItems != 0)
    return fmt::format("{} work-items do not share {} rows of {} copies evenly", kGroupItems,
                       gemm.tile.rows, runs);
  if (gemm.roles.has_blocks() && gemm.tile.depth % gemm.nest.indices[at(gemm.roles.depth())].extent)
    return fmt::format("a step of {} is not whole blocks", gemm.tile.depth);
  if (gemm.tile.rows * runs > kMostRuns * kGroupItems)
    return fmt::format("{} copies of a work-item; at most {}", gemm.tile.rows * runs / kGroupItems,
                       kMostRuns);
  return {};
}

} // namespace tilefuse::schedule
