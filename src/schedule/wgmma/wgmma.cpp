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
Reason wrong_swapped(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const CoreTile tile = core_tile(nest, schedule);
  const std::int64_t vec = schedule.splits[at(roles.channel)].vec;
  const bool in_blocks = roles.channels.size() != 1 || roles.has_blocks();
  if (roles.data_turned || (in_blocks && !schedule.core.gathers && schedule.core.window == 0))
    return "swapped operands need straight data and channels that lie in no blocks";
  if (vec < 1 || extent(nest, roles.channel) % vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}", extent(nest, roles.channel),
                       vec);
  if (schedule.core.tensor_store || schedule.core.cluster_rows * schedule.core.cluster_columns != 1)
    return "swapped results leave in no boxes, nor are swapped operands shared in clusters";
  if (tile.warp_rows != schedule.core.op->n)
    return fmt::format("{} swapped rows are not {} times {}", tile.rows, schedule.core.warp_rows,
                       schedule.core.op->n);
  if (tile.columns % (kGroupRows * schedule.core.warp_columns) != 0)
    return fmt::format("{} swapped columns are not {} groups of multiples of {}", tile.columns,
                       schedule.core.warp_columns, kGroupRows);
  const bool is_dealt = vec == kPairs && (!roles.filter_turned || schedule.core.keeps_filter) &&
                        roles.channel_points % (kPairs * kHalfRows) == 0;
  return vec == 1 || is_dealt ? Reason{}
                              : fmt::format("vec {} of {} swapped channels; it needs 1, or {} of "
                                            "a straight or kept filter with multiples of {}",
                                            vec, roles.channel_points, kPairs, kPairs * kHalfRows);
}

Reason wrong_columns(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const Core &core = schedule.core;
  if (core.swapped)
    return wrong_swapped(nest, schedule, roles);
  const Split &channel = schedule.splits[at(roles.channel)];
  if (channel.tile != core.op->n * core.warp_columns)
    return fmt::format("{} columns are not {} times {}", channel.tile, core.warp_columns,
                       core.op->n);
  const std::int64_t extent = roles.channel_points;
  if (roles.filter_turned)
    return (channel.vec == kPairs || channel.vec == kPanelVec) && extent % channel.vec == 0
               ? Reason{}
               : fmt::format("vec {} of {} channels of a turned filter; it needs {} or {}",
                             channel.vec, extent, kPairs, kPanelVec);
  const std::int64_t dealt = 4 * channel.vec;
  if (std::find(kDealtVecs.begin(), kDealtVecs.end(), channel.vec) == kDealtVecs.end() ||
      core.op->n % dealt != 0 || extent % dealt != 0)
    return fmt::format("vec {} does not deal {} channels by tiles of {}", channel.vec, extent,
                       core.op->n);
  if (roles.channels.size() > 1 && nest.indices[at(roles.channel)].extent % channel.vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}",
                       nest.indices[at(roles.channel)].extent, channel.vec);
  return {};
}

// The tile's rows are a box of pixels. In blocks those of a row of the ring are evenly apart.
Reason wrong_box(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const PixelBox box = pixel_box(nest, schedule);
  std::int64_t points = 1;
  for (const std::int64_t size : box.sizes)
    points *= size;
  if (points != schedule.core.rows)
    return fmt::format("a box of {} pixels for {} rows", points, schedule.core.rows);
  if (roles.data_turned)
    return "turned data has no boxes";
  if (!roles.has_blocks() || schedule.core.gathers)
    return {};
  const RowBlocks blocks = row_blocks(nest, schedule);
  const std::int64_t row = ring_row_bytes(nest, schedule);
  if (blocks.used != 1 && blocks.held != blocks.used * blocks.step)
    return fmt::format("{} neighbours in steps of {} are no whole row", blocks.used, blocks.step);
  if (row != 32 && row != 64 && row != 128)
    return fmt::format("rows of {} bytes of neighbouring blocks; it needs 32, 64 or 128", row);
  const std::int64_t block = nest.indices[at(roles.depth())].extent;
  const CoreTile tile = core_tile(nest, schedule);
  if (block * tile.elem_bytes != kStepBytes || tile.depth % block != 0)
    return fmt::format("a step of {} is not whole blocks of {} bytes", tile.depth, kStepBytes);
  if (!is_packed(schedule.fills[at(roles.filter)]))
    return "a filter in blocks is not packed";
  return {};
}

Reason wrong_sizes(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const Core &core = schedule.core;
  const CoreTile tile = core_tile(nest, schedule);
  const std::int64_t groups = core.warp_rows * core.warp_columns;
  if (core.warp_rows < 1 || core.warp_columns < 1 || groups > 3)
    return "wgmma needs 1 to 3 groups of four warps";
  if (core.turns < 1 || core.turns > 2 || (core.turns == 2 && groups != 1))
    return fmt::format("{} turns of {} groups of four warps; it needs 1, or 2 of 1", core.turns,
                       groups);
  if (tile.rows < 1 || (!core.swapped && tile.rows % (kGroupRows * core.warp_rows) != 0))
    return fmt::format("{} rows are not {} groups of multiples of {}", tile.rows, core.warp_rows,
                       kGroupRows);
  if (Reason reason = wrong_columns(nest, schedule, roles))
    return reason;
  if (has_box(nest, schedule))
    if (Reason reason = wrong_box(nest, schedule, roles))
      return reason;
  if (tile.warp_rows * tile.warp_columns / kGroupItems > kMostAccumulators)
    return fmt::format("{} accumulators of a work-item; at most {}",
                       tile.warp_rows * tile.warp_columns / kGroupItems, kMostAccumulators);
  const std::int64_t bytes = tile.row_bytes();
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return fmt::format("a step of {} bytes of depth; it needs 32, 64 or 128", bytes);
  if (roles.filter_turned && (bytes != kTurnedBytes || tile.elem_bytes != 2 ||
                              tile.warp_columns * tile.elem_bytes % kTurnedBytes != 0))
    return "a turned filter needs panels of 64 columns and steps of 64 points of 2 bytes";
  if (!core.keeps_filter && (core.ring < 2 || core.ring > kMostRing))
    return fmt::format("a ring of {} buffers; it needs 2 to {}", core.ring, kMostRing);
  return {};
}

// What blocks of a cluster share is copied in slices: of whole groups of rows that are exchanged
// together, of a whole number of columns that are dealt together, or of panels.
Reason wrong_cluster(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const Core &core = schedule.core;
  const CoreTile tile = core_tile(nest, schedule);
  const std::int64_t rows = core.cluster_rows;
  const std::int64_t columns = core.cluster_columns;
  if (rows < 1 || columns < 1 || kMostCluster % (rows * columns) != 0)
    return fmt::format("a cluster of {} x {} blocks; it needs 1, 2 or {} in all", rows, columns,
                       kMostCluster);
  if (core.blocks % core.cluster() != 0)
    return fmt::format("{} blocks are not clusters of {}", core.blocks, core.cluster());
  if (columns > 1 && has_box(nest, schedule))
    return "blocks of a cluster do not share a box of pixels";
  const std::int64_t across = kTurnedBytes / tile.elem_bytes;
  if (roles.data_turned)
    return tile.rows % (columns * across) == 0 && tile.columns % (rows * across) == 0
               ? Reason{}
               : fmt::format("a cluster of {} x {} blocks does not share panels of {} x {} evenly",
                             rows, columns, tile.rows / across, tile.columns / across);
  const std::int64_t vec = schedule.splits[at(roles.channel)].vec;
  const std::int64_t dealt = std::max<std::int64_t>(kSwizzleRows, vec == 2 ? 1 : 4 * vec);
  if (!roles.filter_turned && tile.columns % (rows * dealt) != 0)
    return fmt::format("{} blocks of a cluster do not share {} columns in runs of {}", rows,
                       tile.columns, dealt);
  return {};
}

// Points past the end of a part are another's: one of the inputs must end with it.
Reason wrong_maps(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const DataMap data = data_map(nest, schedule);
  if (!data.wrong.empty())
    return data.wrong;
  if (!roles.data_turned) {
    const FilterMap filter = filter_map(nest, schedule);
    if (!filter.wrong.empty())
      return filter.wrong;
    // Where the depth is no dimension of its own, what follows a part's is another's.
    const bool is_matrix = !data.is_im2col() && data.place.empty();
    if (!is_matrix && column_plan(nest, schedule).products > 1 &&
        roles.depth_points % core_tile(nest, schedule).depth != 0)
      return "steps run over the end of a part of the channels";
    return {};
  }
  const DataMap filter = turned_filter_map(nest, schedule);
  if (!filter.wrong.empty())
    return filter.wrong;
  if (column_plan(nest, schedule).products > 1 && data.is_im2col() && filter.is_im2col() &&
      roles.depth_points % core_tile(nest, schedule).depth != 0)
    return "steps run over the end of a part of the reduction in both inputs";
  return {};
}

} // namespace

std::optional<std::string> wrong_wgmma(const Nest &nest, const Schedule &schedule,
                                       const Target &target) {
  const Core &core = schedule.core;
  const CoreRoles roles = core_roles(nest, schedule);
  if (!has(target, Feature::WarpgroupMatrix))
    return "wgmma needs the target sm_90a";
  if (core.op != wgmma_op_for(nest, core.op->n, core.op->tf32) ||
      core.op->k * size_bytes(core.op->a.type) != kStepBytes)
    return fmt::format("{} does not multiply the nest's types", core.op->name);
  if (roles.data_apart)
    return "wgmma's copies do not gather data";
  if (roles.data_turned && !roles.filter_turned)
    return "wgmma's data is turned, and its filter is not";
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  if (out.coeff[at(roles.channel)] != 1 && roles.filter_turned)
    return "the channel of a turned filter is not contiguous in the result";
  if (Reason reason = wrong_sizes(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_store(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_ahead(nest, schedule))
    return reason;
  if (core.blocks < 0)
    return fmt::format("{} blocks", core.blocks);
  if (Reason reason = wrong_cluster(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_parts(nest, schedule))
    return reason;
  if (group_size(schedule) > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", group_size(schedule),
                       target.max_group);
  if (Reason reason = wrong_window(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_gather(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_roles(nest, schedule, roles))
    return reason;
  if (Reason reason = wrong_local_memory(local_buffers(nest, schedule), target))
    return reason;
  return wrong_maps(nest, schedule, roles);
}

} // namespace tilefuse::schedule
