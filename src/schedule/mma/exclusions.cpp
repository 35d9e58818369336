// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/exclusions.h"

#include <array>

#include <fmt/format.h>

#include "base/index.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

bool shares_tiles(const Gemm &gemm) {
  return gemm.schedule.tiles.cluster_m * gemm.schedule.tiles.cluster_n != 1;
}

bool splits(const Gemm &gemm) { return gemm.schedule.tiles.split_k != 1; }

constexpr std::array kExclusions = {
    Exclusion{
        "cluster", "cp_async", "asynchronous copies reach the local memory of one block alone",
        [](const Gemm &gemm) { return shares_tiles(gemm) && has_loading_warps(gemm.schedule); }},
    Exclusion{"split_k", "halo", "a halo serves all taps of a k-block, and parts begin at any tap",
              [](const Gemm &gemm) { return splits(gemm) && halo_stages(gemm.schedule) > 0; }},
    Exclusion{"cluster.n", "boxes", "blocks multicast runs of a tile's rows, and a box has none",
              [](const Gemm &gemm) { return gemm.schedule.tiles.cluster_n > 1 && has_box(gemm); }},
    Exclusion{"cluster", "split_k",
              "blocks of a cluster have one number, which is one or the other",
              [](const Gemm &gemm) { return shares_tiles(gemm) && splits(gemm); }},
    Exclusion{
        "split_k", "pingpong", "all warps of all blocks meet to add one tile's parts",
        [](const Gemm &gemm) { return splits(gemm) && gemm.schedule.roles.math.instances > 1; }},
    Exclusion{
        "store.tma", "swap_ab", "registers hold swapped results by points, boxes by channels",
        [](const Gemm &gemm) { return gemm.schedule.store == Store::Tma && gemm.core().swap_ab; }},
    Exclusion{"pingpong", "warpgroups",
              "registers of a multiprocessor hold the accumulators of two tiles of one alone",
              [](const Gemm &gemm) {
                return gemm.schedule.roles.math.instances > 1 &&
                       gemm.core().warp_rows * gemm.core().warp_columns > 1;
              }},
    Exclusion{"resident", "tiles.n", "local memory holds the filter of one tile",
              [](const Gemm &gemm) {
                const TileGrid grid = tile_grid(gemm);
                return has_resident(gemm.schedule) && (grid.columns != 1 || grid.products != 1);
              }},
    Exclusion{
        "early", "late",
        "before earlier kernels end only what they cannot write is copied, step by step",
        [](const Gemm &gemm) { return gemm.schedule.roles.load.early && !can_copy_early(gemm); }},
};

} // namespace

std::span<const Exclusion> exclusions() { return kExclusions; }

std::optional<std::string> excluded(const Gemm &gemm) {
  if (!is_wgmma(*gemm.core().op))
    return {};
  for (const Exclusion &pair : kExclusions)
    if (pair.both(gemm))
      return fmt::format("{} and {} exclude each other: {}", pair.one, pair.other, pair.reason);
  return {};
}

} // namespace tilefuse::schedule
