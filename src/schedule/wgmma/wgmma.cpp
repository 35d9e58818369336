// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/staging.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_ahead.h"
#include "schedule/wgmma/wgmma_boxes.h"
#include "schedule/wgmma/wgmma_filter_map.h"
#include "schedule/wgmma/wgmma_gather.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_parts.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"
#include "target/features.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kStepBytes = 32; // of depth, by one instruction
constexpr std::int64_t kGroupRows = 64; // of one instruction
constexpr std::int64_t kHalfRows = 8;   // between the rows of a work-item's results
constexpr std::int64_t kTurnedBytes = 128;
constexpr std::int64_t kMostRing = 16;
constexpr std::int64_t kMostAccumulators = 128; // of a work-item
constexpr std::int64_t kPairs = 2;              // vec of columns as the instruction leaves them
constexpr std::array kDealtVecs = {2, 4, 8, 16};
constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kMostCluster = 4; // blocks

} // namespace

namespace {

// Channels are rows of the instruction, alone or dealt in pairs, and points its columns.
Reason wrong_swapped(const Gemm &gemm) {
  const std::int64_t vec = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  const bool in_blocks = gemm.roles.channels.size() != 1 || gemm.roles.has_blocks();
  if (gemm.roles.data_turned ||
      (in_blocks && !has_loading_warps(gemm.schedule) && halo_stages(gemm.schedule) == 0))
    return "swapped operands need straight data and channels that lie in no blocks";
  if (vec < 1 || extent(gemm.nest, gemm.roles.channel) % vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}",
                       extent(gemm.nest, gemm.roles.channel), vec);
  if (gemm.schedule.store == Store::Tma ||
      gemm.schedule.tiles.cluster_m * gemm.schedule.tiles.cluster_n != 1)
    return "swapped results leave in no boxes, nor are swapped operands shared in clusters";
  if (gemm.tile.warp_rows != gemm.core().op->n)
    return fmt::format("{} swapped rows are not {} times {}", gemm.tile.rows, gemm.core().warp_rows,
                       gemm.core().op->n);
  if (gemm.tile.columns % (kGroupRows * gemm.core().warp_columns) != 0)
    return fmt::format("{} swapped columns are not {} groups of multiples of {}", gemm.tile.columns,
                       gemm.core().warp_columns, kGroupRows);
  const bool is_dealt = vec == kPairs &&
                        (!gemm.roles.filter_turned || has_resident(gemm.schedule)) &&
                        gemm.roles.channel_points % (kPairs * kHalfRows) == 0;
  return vec == 1 || is_dealt
             ? Reason{}
             : fmt::format("vec {} of {} swapped channels; it needs 1, or {} of "
                           "a straight or kept filter with multiples of {}",
                           vec, gemm.roles.channel_points, kPairs, kPairs * kHalfRows);
}

Reason wrong_columns(const Gemm &gemm) {
  const Core &core = gemm.core();
  if (gemm.schedule.core.swap_ab)
    return wrong_swapped(gemm);
  const Split &channel = gemm.schedule.splits[at(gemm.roles.channel)];
  if (channel.tile != core.op->n * core.warp_columns)
    return fmt::format("{} columns are not {} times {}", channel.tile, core.warp_columns,
                       core.op->n);
  const std::int64_t extent = gemm.roles.channel_points;
  if (gemm.roles.filter_turned)
    return (channel.vec == kPairs || channel.vec == kPanelVec) && extent % channel.vec == 0
               ? Reason{}
               : fmt::format("vec {} of {} channels of a turned filter; it needs {} or {}",
                             channel.vec, extent, kPairs, kPanelVec);
  const std::int64_t dealt = 4 * channel.vec;
  if (std::find(kDealtVecs.begin(), kDealtVecs.end(), channel.vec) == kDealtVecs.end() ||
      core.op->n % dealt != 0 || extent % dealt != 0)
    return fmt::format("vec {} does not deal {} channels by tiles of {}", channel.vec, extent,
                       core.op->n);
  if (gemm.roles.channels.size() > 1 &&
      gemm.nest.indices[at(gemm.roles.channel)].extent % channel.vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}",
                       gemm.nest.indices[at(gemm.roles.channel)].extent, channel.vec);
  return {};
}

// The tile's rows are a box of pixels. In blocks those of a row of the ring are evenly apart.
Reason wrong_box(const Gemm &gemm) {
  const PixelBox box = pixel_box(gemm);
  std::int64_t points = 1;
  for (const std::int64_t size : box.sizes)
    points *= size;
  if (points != gemm.core().rows)
    return fmt::format("a box of {} pixels for {} rows", points, gemm.core().rows);
  if (gemm.roles.data_turned)
    return "turned data has no boxes";
  if (!gemm.roles.has_blocks() || has_loading_warps(gemm.schedule))
    return {};
  const RowBlocks blocks = gemm.row;
  const std::int64_t row = ring_row_bytes(gemm);
  if (blocks.used != 1 && blocks.held != blocks.used * blocks.step)
    return fmt::format("{} neighbours in steps of {} are no whole row", blocks.used, blocks.step);
  if (row != 32 && row != 64 && row != 128)
    return fmt::format("rows of {} bytes of neighbouring blocks; it needs 32, 64 or 128", row);
  const std::int64_t block = gemm.nest.indices[at(gemm.roles.depth())].extent;
  if (block * gemm.tile.elem_bytes != kStepBytes || gemm.tile.depth % block != 0)
    return fmt::format("a step of {} is not whole blocks of {} bytes", gemm.tile.depth, kStepBytes);
  if (!is_packed(gemm.schedule.fills[at(gemm.roles.filter)]))
    return "a filter in blocks is not packed";
  return {};
}

Reason wrong_sizes(const Gemm &gemm) {
  const Core &core = gemm.core();
  const std::int64_t groups = core.warp_rows * core.warp_columns;
  if (core.warp_rows < 1 || core.warp_columns < 1 || groups > 3)
    return "wgmma needs 1 to 3 groups of four warps";
  if (gemm.schedule.roles.math.instances < 1 || gemm.schedule.roles.math.instances > 2 ||
      (gemm.schedule.roles.math.instances == 2 && groups != 1))
    return fmt::format("{} turns of {} groups of four warps; it needs 1, or 2 of 1",
                       gemm.schedule.roles.math.instances, groups);
  if (gemm.tile.rows < 1 ||
      (!gemm.schedule.core.swap_ab && gemm.tile.rows % (kGroupRows * core.warp_rows) != 0))
    return fmt::format("{} rows are not {} groups of multiples of {}", gemm.tile.rows,
                       core.warp_rows, kGroupRows);
  if (Reason reason = wrong_columns(gemm))
    return reason;
  if (has_box(gemm))
    if (Reason reason = wrong_box(gemm))
      return reason;
  if (gemm.tile.warp_rows * gemm.tile.warp_columns / kGroupItems > kMostAccumulators)
    return fmt::format("{} accumulators of a work-item; at most {}",
                       gemm.tile.warp_rows * gemm.tile.warp_columns / kGroupItems,
                       kMostAccumulators);
  const std::int64_t bytes = gemm.tile.row_bytes();
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return fmt::format("a step of {} bytes of depth; it needs 32, 64 or 128", bytes);
  if (gemm.roles.filter_turned &&
      (bytes != kTurnedBytes || gemm.tile.elem_bytes != 2 ||
       gemm.tile.warp_columns * gemm.tile.elem_bytes % kTurnedBytes != 0))
    return "a turned filter needs panels of 64 columns and steps of 64 points of 2 bytes";
  if (!has_resident(gemm.schedule) &&
      (step_stages(gemm.schedule) < 2 || step_stages(gemm.schedule) > kMostRing))
    return fmt::format("a ring of {} buffers; it needs 2 to {}", step_stages(gemm.schedule),
                       kMostRing);
  return {};
}

// What blocks of a cluster share is copied in slices: of whole groups of rows that are exchanged
// together, of a whole number of columns that are dealt together, or of panels.
Reason wrong_cluster(const Gemm &gemm) {
  const std::int64_t rows = gemm.schedule.tiles.cluster_m;
  const std::int64_t columns = gemm.schedule.tiles.cluster_n;
  if (rows < 1 || columns < 1 || kMostCluster % (rows * columns) != 0)
    return fmt::format("a cluster of {} x {} blocks; it needs 1, 2 or {} in all", rows, columns,
                       kMostCluster);
  if (gemm.schedule.tiles.persistent % gemm.schedule.tiles.cluster() != 0)
    return fmt::format("{} blocks are not clusters of {}", gemm.schedule.tiles.persistent,
                       gemm.schedule.tiles.cluster());
  if (columns > 1 && has_box(gemm))
    return "blocks of a cluster do not share a box of pixels";
  const std::int64_t across = kTurnedBytes / gemm.tile.elem_bytes;
  if (gemm.roles.data_turned)
    return gemm.tile.rows % (columns * across) == 0 && gemm.tile.columns % (rows * across) == 0
               ? Reason{}
               : fmt::format("a cluster of {} x {} blocks does not share panels of {} x {} evenly",
                             rows, columns, gemm.tile.rows / across, gemm.tile.columns / across);
  const std::int64_t vec = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  const std::int64_t dealt = std::max<std::int64_t>(kSwizzleRows, vec == 2 ? 1 : 4 * vec);
  if (!gemm.roles.filter_turned && gemm.tile.columns % (rows * dealt) != 0)
    return fmt::format("{} blocks of a cluster do not share {} columns in runs of {}", rows,
                       gemm.tile.columns, dealt);
  return {};
}

// Points past the end of a part are another's: one of the inputs must end with it.
Reason wrong_maps(const Gemm &gemm) {
  const DataMap data = data_map(gemm);
  if (!data.wrong.empty())
    return data.wrong;
  if (!gemm.roles.data_turned) {
    const FilterMap filter = filter_map(gemm);
    if (!filter.wrong.empty())
      return filter.wrong;
    // Where the depth is no dimension of its own, what follows a part's is another's.
    const bool is_matrix = !data.is_im2col() && data.place.empty();
    if (!is_matrix && column_plan(gemm).products > 1 &&
        gemm.roles.depth_points % gemm.tile.depth != 0)
      return "steps run over the end of a part of the channels";
    return {};
  }
  const DataMap filter = turned_filter_map(gemm);
  if (!filter.wrong.empty())
    return filter.wrong;
  if (column_plan(gemm).products > 1 && data.is_im2col() && filter.is_im2col() &&
      gemm.roles.depth_points % gemm.tile.depth != 0)
    return "steps run over the end of a part of the reduction in both inputs";
  return {};
}

} // namespace

std::optional<std::string> wrong_wgmma(const Gemm &gemm, const Target &target) {
  const Core &core = gemm.core();
  if (!has(target, Feature::WarpgroupMatrix))
    return "wgmma needs the target sm_90a";
  if (core.op != wgmma_op_for(gemm.nest, core.op->n, core.op->tf32) ||
      core.op->k * size_bytes(core.op->a.type) != kStepBytes)
    return fmt::format("{} does not multiply the nest's types", core.op->name);
  if (gemm.roles.data_apart)
    return "wgmma's copies do not gather data";
  if (Reason reason = wrong_sizes(gemm))
    return reason;
  if (Reason reason = wrong_store(gemm))
    return reason;
  if (Reason reason = wrong_ahead(gemm))
    return reason;
  if (gemm.schedule.tiles.persistent < 0)
    return fmt::format("{} blocks", gemm.schedule.tiles.persistent);
  if (Reason reason = wrong_cluster(gemm))
    return reason;
  if (Reason reason = wrong_parts(gemm))
    return reason;
  if (group_size(gemm.schedule) > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", group_size(gemm.schedule),
                       target.max_group);
  if (Reason reason = wrong_window(gemm))
    return reason;
  if (Reason reason = wrong_gather(gemm))
    return reason;
  if (Reason reason = wrong_roles(gemm))
    return reason;
  if (Reason reason = wrong_local_memory(local_buffers(gemm), target))
    return reason;
  return wrong_maps(gemm);
}

} // namespace tilefuse::schedule
