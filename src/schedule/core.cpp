// SPDX-License-Identifier: Apache-2.0
#include "schedule/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/algorithms.h"
#include "schedule/staging.h"
#include "schedule/wgmma.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kStepBytes = 32; // of depth, by one instruction
constexpr int kCoreRows = 16;
constexpr int kCoreColumns = 8;
constexpr int kMostRing = 8;
constexpr std::int64_t kLargestTile = 512;
constexpr std::int64_t kLineChunks = 8;     // 16-byte chunks over all banks
constexpr std::int64_t kLeastExchange = 32; // columns of a warp
constexpr std::int64_t kExchangeApart = 8;  // elements between rows that are exchanged

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

std::int64_t extent(const Nest &nest, int i) { return nest.indices[at(i)].extent; }

DType type_of(const Nest &nest, int input) {
  return nest.slots[at(nest.inputs[at(input)].slot)].type;
}

// Each work-item copies whole runs of a side's rows.
Reason wrong_copies(const Nest &nest, const Schedule &schedule, int input) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreSideTile side = core_side_tile(roles, core_tile(nest, schedule), input);
  const bool gathers = core_gathers(nest, schedule, input);
  const std::int64_t each =
      gathers ? core_tile(nest, schedule).chunk() : core_copy_elems(nest, schedule, input);
  if (each == 0)
    return fmt::format("input {} has no aligned runs of 4 bytes along {}", input,
                       roles.is_turned(input) ? nest.indices[at(roles.contiguous(input))].name
                                              : "the depth");
  const std::int64_t per_row = side.elems / each;
  const std::int64_t items = group_size(schedule);
  if (items % per_row != 0 || side.rows * per_row % items != 0)
    return fmt::format("{} work-items do not share {} rows of {} copies evenly", items, side.rows,
                       per_row);
  return {};
}

// Chunks of what a warp reads from turned rows are told apart by their bits.
Reason wrong_turned(const CoreRoles &roles, const CoreTile &tile) {
  const auto is_power = [](std::int64_t value) { return (value & (value - 1)) == 0; };
  if (roles.data_turned && (!is_power(tile.warp_rows) || !is_power(tile.rows)))
    return fmt::format("{} rows of turned data by {} of a warp are not powers of 2", tile.rows,
                       tile.warp_rows);
  if (roles.filter_turned && (!is_power(tile.warp_columns) || !is_power(tile.columns) ||
                              tile.warp_columns < kLeastExchange))
    return fmt::format("{} columns of a turned filter by {} of a warp are not powers of 2 from {}",
                       tile.columns, tile.warp_columns, kLeastExchange);
  return {};
}

Reason wrong_columns(const Schedule &schedule, const CoreRoles &roles, const CoreTile &tile) {
  const std::int64_t vec = schedule.splits[at(roles.channel)].vec;
  if (roles.filter_turned)
    return vec == kExchangeVec
               ? Reason{}
               : fmt::format("vec {} of a turned filter; it needs {}", vec, kExchangeVec);
  if (tile.columns != kCoreColumns * vec * schedule.core.warp_columns || vec < 2)
    return fmt::format("{} columns are not {} warps of {} x vec {}, an even one", tile.columns,
                       schedule.core.warp_columns, kCoreColumns, vec);
  return {};
}

// A step takes whole blocks of the depth, and a run of channels does not leave its block.
Reason wrong_blocks(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const std::int64_t block = extent(nest, roles.depth());
  const std::int64_t depth = schedule.splits[at(roles.depth())].tile;
  const std::int64_t vec = schedule.splits[at(roles.channel)].vec;
  if (roles.has_blocks() && depth % block != 0)
    return fmt::format("a step of {} is not whole blocks of {}", depth, block);
  if (roles.has_blocks() && is_packed(schedule.fills[at(roles.filter)]))
    return "a filter that lies in blocks is packed";
  if (roles.channels.size() > 1 && extent(nest, roles.channel) % vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}", extent(nest, roles.channel),
                       vec);
  return {};
}

Reason wrong_tile(const Nest &nest, const Schedule &schedule) {
  const Core &core = schedule.core;
  const CoreTile tile = core_tile(nest, schedule);
  if (core.warp_rows < 1 || core.warp_columns < 1 || core.warp_rows * core.warp_columns > 32)
    return "a matrix instruction needs 1 to 32 warps";
  if (std::max(tile.rows, tile.columns) > kLargestTile || tile.rows < 1 ||
      tile.rows % (kCoreRows * core.warp_rows) != 0)
    return fmt::format("{} rows are not warps of multiples of {}", tile.rows, kCoreRows);
  const CoreRoles roles = core_roles(nest, schedule);
  if (tile.columns % core.warp_columns != 0)
    return fmt::format("{} columns by {} warps", tile.columns, core.warp_columns);
  if (Reason reason = wrong_columns(schedule, roles, tile))
    return reason;
  if (Reason reason = wrong_turned(roles, tile))
    return reason;
  const std::int64_t bytes = tile.row_bytes();
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return fmt::format("a step of {} bytes of depth; it needs 32, 64 or 128", bytes);
  if (core.ring < 2 || core.ring > kMostRing)
    return fmt::format("a ring of {} buffers; it needs 2 to {}", core.ring, kMostRing);
  return {};
}

} // namespace

const CoreOp *core_op_for(const Nest &nest, bool tf32) {
  const DType type = type_of(nest, 0);
  if (nest.inputs.size() != 2 || type_of(nest, 1) != type)
    return nullptr;
  for (const CoreOp &op : core_ops())
    if (op.m == kCoreRows && op.a.type == type && op.tf32 == tf32 && op.d.type == held_type(nest) &&
        op.k * size_bytes(type) == kStepBytes)
      return &op;
  return nullptr;
}

std::int64_t core_copy_elems(const Nest &nest, const Schedule &schedule, int input) {
  const Source source = source_of(nest, schedule, input);
  const CoreRoles roles = core_roles(nest, schedule);
  const int along = roles.contiguous(input);
  if (roles.data_apart && input == roles.data)
    return 0;
  const auto size = size_bytes(type_of(nest, input));
  // A packed form ends with whole steps.
  const std::int64_t step = schedule.splits[at(along)].tile;
  const bool packed = is_packed(schedule.fills[at(input)]);
  const std::int64_t length = packed ? up(extent(nest, along), step) * step : extent(nest, along);
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t elems = bytes / size;
    bool divides = elems > 0 && source.offset % elems == 0 && length % elems == 0;
    for (const nest::Dim &dim : source.dims)
      for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
        if (i != at(along))
          divides = divides && dim.at.coeff[i] * dim.stride % elems == 0 &&
                    dim.at.constant * dim.stride % elems == 0;
    if (divides)
      return elems;
  }
  return 0;
}

bool core_gathers(const Nest &nest, const Schedule &schedule, int input) {
  const CoreRoles roles = core_roles(nest, schedule);
  return input == roles.data && !roles.data_turned && !roles.has_blocks() &&
         core_copy_elems(nest, schedule, input) == 0;
}

CoreTile core_tile(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const Core &core = schedule.core;
  CoreTile tile{.rows = core.rows,
                .columns = schedule.splits[at(roles.channel)].tile,
                .depth = schedule.splits[at(roles.depth())].tile};
  tile.warp_rows = tile.rows / std::max<std::int64_t>(1, core.warp_rows);
  tile.warp_columns = tile.columns / std::max<std::int64_t>(1, core.warp_columns);
  tile.elem_bytes = size_bytes(type_of(nest, roles.data));
  if (is_wgmma(*core.op)) {
    const RowBlocks row = row_blocks(nest, schedule);
    tile.spread = row.held / row.used;
  }
  return tile;
}

CoreSideTile core_side_tile(const CoreRoles &roles, const CoreTile &tile, int input) {
  const std::int64_t count = input == roles.data ? tile.rows : tile.columns;
  return roles.is_turned(input) ? CoreSideTile{tile.depth, count} : CoreSideTile{count, tile.depth};
}

Swizzle core_swizzle(std::int64_t row_bytes) {
  const std::int64_t chunks = std::min(row_bytes / 16, kLineChunks);
  return {.divisor = kLineChunks / chunks, .modulus = chunks};
}

std::int64_t exchange_row(const CoreTile &tile) { return tile.warp_columns + kExchangeApart; }

std::int64_t exchange_elems(const CoreRoles &roles, const CoreTile &tile) {
  return roles.filter_turned ? tile.warps() * kExchangeRows * exchange_row(tile) : 0;
}

std::int64_t core_local_bytes(const Nest &nest, const Schedule &schedule) {
  const CoreTile tile = core_tile(nest, schedule);
  return tile.ring_bytes(schedule.core.ring) +
         exchange_elems(core_roles(nest, schedule), tile) * size_bytes(held_type(nest));
}

std::int64_t core_blocks(const Nest &nest, const Schedule &schedule) {
  if (is_wgmma(*schedule.core.op)) {
    const TileGrid grid = tile_grid(nest, schedule);
    const std::int64_t all = grid.clusters() * schedule.core.cluster();
    return schedule.core.blocks > 0 ? std::min(all, schedule.core.blocks) : all;
  }
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  std::int64_t count = up(roles.points, tile.rows) * up(roles.channel_points, tile.columns);
  for (int i : roles.grid)
    count *= extent(nest, i);
  return count;
}

std::int64_t core_steps(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  std::int64_t steps = up(roles.depth_points, core_tile(nest, schedule).depth);
  for (int i : roles.walked)
    steps *= extent(nest, i);
  return steps;
}

std::optional<std::string> wrong_core(const Nest &nest, const Schedule &schedule,
                                      const Target &target) {
  if (schedule.lanes != LaneKind::WorkItem || target.lanes != LaneKind::WorkItem ||
      target.backend != "cuda" || target.warp != kCoreLanes)
    return "matrix instructions need a CUDA target";
  if (Reason reason = no_core_roles(nest))
    return reason;
  const CoreOp *op = schedule.core.op;
  if (!is_wgmma(*op) && op != core_op_for(nest, op->tf32))
    return fmt::format("{} does not multiply the nest's types in steps of {} bytes", op->name,
                       kStepBytes);
  const CoreRoles roles = core_roles(nest, schedule);
  if (schedule.order.back() != roles.depth())
    return "the depth is not the innermost loop";
  for (std::size_t i = 0; i < schedule.splits.size(); ++i) {
    const Split &split = schedule.splits[i];
    const int index = static_cast<int>(i);
    const bool in_box = is_wgmma(*op) && std::find(roles.pixels.begin(), roles.pixels.end(),
                                                   index) != roles.pixels.end();
    const bool is_free = index == roles.channel || index == roles.depth() || in_box;
    const std::int64_t whole = index < nest.output_indices ? 1 : nest.indices[i].extent;
    if (split.keep != 1 || split.lane != 1 || (index != roles.channel && split.vec != 1) ||
        (!is_free && split.tile != whole) || split.tile < 1)
      return fmt::format("index {} has factors that a matrix instruction leaves no room for",
                         nest.indices[i].name);
  }
  for (std::size_t k = 0; k < schedule.fills.size(); ++k)
    if (is_staged(schedule.fills[k]))
      return fmt::format("input {} has a stage besides the ring", k);
  if (is_packed(schedule.fills[at(roles.data)]))
    return "the data is packed";
  if (is_packed(schedule.fills[at(roles.filter)]) && roles.filter_turned)
    return "a turned filter is packed";
  if (!is_packed(schedule.fills[at(roles.filter)]) &&
      !is_contiguous(nest.inputs[at(roles.filter)], roles.contiguous(roles.filter)))
    return "the filter is neither packed nor contiguous along the depth";
  if (is_wgmma(*op))
    return wrong_wgmma(nest, schedule, target);
  if (schedule.core.blocks != 0 || schedule.core.turns != 1 || schedule.core.cluster() != 1 ||
      schedule.core.swapped || schedule.core.tensor_store)
    return "blocks and groups of warps share tiles of wgmma alone, which alone are swapped or "
           "leave "
           "in boxes";
  if (schedule.core.window != 0 || schedule.core.keeps_filter)
    return "windows and kept filters are wgmma's alone";
  if (Reason reason = wrong_tile(nest, schedule))
    return reason;
  if (Reason reason = wrong_blocks(nest, schedule, roles))
    return reason;
  for (const int input : {roles.data, roles.filter})
    if (Reason reason = wrong_copies(nest, schedule, input))
      return reason;
  if (group_size(schedule) > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", group_size(schedule),
                       target.max_group);
  const std::int64_t bytes = core_local_bytes(nest, schedule);
  if (bytes > target.local_bytes)
    return fmt::format("staging needs {} bytes per block, the target has {}", bytes,
                       target.local_bytes);
  return {};
}

} // namespace tilefuse::schedule
