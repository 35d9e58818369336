// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_legal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/local_memory.h"
#include "schedule/mma/atom_tile.h"
#include "schedule/mma/core_pipes.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"
#include "target/features.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

// Warps of mma take one tile, and do all the same.
Reason wrong_kind(const Gemm &gemm) {
  const Schedule &schedule = gemm.schedule;
  if (gemm.is_wgmma() ||
      (schedule.roles == WarpRoles{} && schedule.tiles.persistent == 0 &&
       schedule.tiles.cluster() == 1 && !schedule.core.swap_ab && schedule.store != Store::Tma))
    return {};
  return "warps of mma have no roles, clusters or tensor copies, and take one tile as it lies";
}

constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kMostCluster = 4; // blocks that share tiles
constexpr std::int64_t kMostParts = 8;   // blocks of a cluster on every device that has clusters

// Channels that are dealt together: the unit of a filter's map.
std::int64_t dealt(const Gemm &gemm) {
  const std::int64_t vec = gemm.run();
  if (gemm.core().swap_ab)
    return vec == 1 ? 1 : kHalfRows * vec;
  return vec == kPairs ? 1 : 4 * vec;
}

// Points that blocks of a cluster share in whole units each.
Range shared(std::string_view what, std::int64_t points, std::int64_t blocks, std::int64_t unit) {
  return {what, points, 0, kNoEnd, blocks > 1 ? blocks * unit : 1};
}

bool divides(std::int64_t count, std::int64_t most) { return count >= 1 && most % count == 0; }

Reason wrong_order(const Gemm &gemm) {
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
  const bool cuts_columns = in_panels || !gemm.roles.filter_turned;
  return outside({{"persistent", tiles.persistent, 0, kNoEnd, tiles.cluster()},
                  {"split_k", tiles.split_k, 1, core_steps(gemm)},
                  shared("instruction.columns", gemm.core().op->n,
                         part_slices(gemm.schedule).columns, joined_columns(gemm)),
                  shared("cluster.rows", gemm.tile.rows, tiles.cluster_n,
                         in_panels ? kPanelBytes / gemm.tile.elem_bytes : kSwizzleRows),
                  shared("cluster.columns", gemm.tile.columns, cuts_columns ? tiles.cluster_m : 1,
                         in_panels ? gemm.halo_columns() : std::max(kSwizzleRows, dealt(gemm)))});
}

// Whether windows serve neighbouring taps of a filter, if they are to.
Reason wrong_step_halo(const Gemm &gemm) {
  if (gemm.schedule.pipes[at(gemm.roles.filter)].footprint != Footprint::StepHalo)
    return {};
  const std::int64_t columns = gemm.halo_columns();
  return outside({{"step_halo.taps", gemm.halo.taps, 2, kNoEnd},
                  {"instruction.columns", gemm.core().op->n, columns, columns}});
}

// Points past the end of a part are another's: one of the inputs must end with it.
Reason wrong_tensor_copies(const Gemm &gemm) {
  if (!gemm.is_wgmma())
    return {};
  const TileMap data = data_map(gemm);
  if (!data.wrong.empty())
    return data.wrong;
  const TileMap filter = filter_map(gemm);
  if (!filter.wrong.empty())
    return filter.wrong;
  // Where the depth is no dimension of its own, what follows a part's is another's.
  const bool ends = gemm.roles.data_turned ? !data.is_im2col() || !filter.is_im2col()
                                           : !data.is_im2col() && data.box.empty();
  if (ends || column_plan(gemm).products == 1)
    return {};
  const std::string wrong = overrun(depth_points(gemm), gemm.tile.depth);
  return wrong.empty() ? Reason{} : wrong;
}

} // namespace

Reason wrong_core_target(const Nest &nest, const Schedule &schedule, const Target &target) {
  const CoreOp &op = *schedule.core.op;
  const Feature feature = is_wgmma(op) ? Feature::WarpgroupMatrix : Feature::MatrixUnits;
  if (schedule.lanes != LaneKind::WorkItem || !has(target, Feature::MatrixUnits) ||
      !has(target, feature))
    return fmt::format("{} needs work-items and a target with {}", op.name, to_string(feature));
  const CoreShape shape{is_wgmma(op) ? op.n : 0, op.tf32, is_wgmma(op) && schedule.core.swap_ab};
  if (&op != core_op_for(nest, shape))
    return fmt::format("{} does not multiply the nest's types in steps of {} bytes", op.name,
                       kStepBytes);
  return {};
}

Reason wrong_core_loops(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  if (schedule.order.back() != IndexId{roles.depth()})
    return "the depth is not the innermost loop";
  for (const IndexId index : schedule.splits.ids()) {
    const Split &split = schedule.splits[index];
    const bool in_box =
        is_wgmma(*schedule.core.op) &&
        std::find(roles.pixels.begin(), roles.pixels.end(), index) != roles.pixels.end();
    const bool is_free = index == roles.channel || index == roles.depth() || in_box;
    const std::int64_t whole = is_output(nest, index) ? 1 : extent(nest, index);
    if (split.keep != 1 || split.lane != 1 || (index != roles.channel && split.vec != 1) ||
        (!is_free && split.tile != whole) || split.tile < 1)
      return fmt::format("index {} has factors that a matrix instruction leaves no room for",
                         nest.indices[index].name);
  }
  return {};
}

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
                return has_resident(gemm.schedule) &&
                       tile_grid(gemm).columns * tile_grid(gemm).products != 1;
              }},
    Exclusion{
        "early", "late",
        "before earlier kernels end only what they cannot write is copied, step by step",
        [](const Gemm &gemm) { return gemm.schedule.roles.load.early && !can_copy_early(gemm); }},
};

} // namespace

std::span<const Exclusion> exclusions() { return kExclusions; }

std::optional<std::string> excluded(const Gemm &gemm) {
  for (const Exclusion &pair : kExclusions)
    if (pair.both(gemm))
      return fmt::format("{} and {} exclude each other: {}", pair.one, pair.other, pair.reason);
  return {};
}

std::optional<std::string> wrong_core(const Nest &nest, const Schedule &schedule,
                                      const Target &target) {
  if (Reason reason = no_core_roles(nest, is_wgmma(*schedule.core.op)))
    return reason;
  if (Reason reason = wrong_core_target(nest, schedule, target))
    return reason;
  if (Reason reason = wrong_core_loops(nest, schedule))
    return reason;
  const Gemm gemm = gemm_of(nest, schedule);
  for (const auto question : {wrong_fills, wrong_pipes, wrong_kind, wrong_atom_tile, wrong_order,
                              wrong_stages, excluded, wrong_store, wrong_ahead, wrong_roles})
    if (Reason reason = question(gemm))
      return reason;
  if (Reason reason = outside({"work_items", group_size(schedule), 1, target.max_group}))
    return reason;
  for (const auto question : {wrong_window, wrong_step_halo, wrong_async_copies})
    if (Reason reason = question(gemm))
      return reason;
  if (Reason reason = wrong_local_memory(local_buffers(gemm), target))
    return reason;
  return wrong_tensor_copies(gemm);
}

} // namespace tilefuse::schedule
