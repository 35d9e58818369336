// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_legal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma.h"
#include "target/features.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kStepBytes = 32; // of depth, by one instruction
constexpr int kCoreRows = 16;
constexpr int kCoreColumns = 8;
constexpr int kMostRing = 8;
constexpr std::int64_t kLargestTile = 512;
constexpr std::int64_t kLeastExchange = 32; // columns of a warp

// Each work-item copies whole runs of a side's rows.
Reason wrong_copies(const Gemm &gemm, int input) {
  const CoreSideTile side = core_side_tile(gemm.roles, gemm.tile, input);
  const bool gathers = core_gathers(gemm, input);
  const std::int64_t each = gathers ? gemm.tile.chunk() : core_copy_elems(gemm, input);
  if (each == 0)
    return fmt::format("input {} has no aligned runs of 4 bytes along {}", input,
                       gemm.roles.is_turned(input)
                           ? gemm.nest.indices[at(gemm.roles.contiguous(input))].name
                           : "the depth");
  const std::int64_t per_row = side.elems / each;
  const std::int64_t items = group_size(gemm.schedule);
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
Reason wrong_blocks(const Gemm &gemm) {
  const std::int64_t block = extent(gemm.nest, gemm.roles.depth());
  const std::int64_t depth = gemm.schedule.splits[at(gemm.roles.depth())].tile;
  const std::int64_t vec = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  if (gemm.roles.has_blocks() && depth % block != 0)
    return fmt::format("a step of {} is not whole blocks of {}", depth, block);
  if (gemm.roles.has_blocks() && is_packed(gemm.schedule.fills[at(gemm.roles.filter)]))
    return "a filter that lies in blocks is packed";
  if (gemm.roles.channels.size() > 1 && extent(gemm.nest, gemm.roles.channel) % vec != 0)
    return fmt::format("blocks of {} channels are not runs of {}",
                       extent(gemm.nest, gemm.roles.channel), vec);
  return {};
}

Reason wrong_tile(const Gemm &gemm) {
  const Core &core = gemm.core();
  if (core.warp_rows < 1 || core.warp_columns < 1 || core.warp_rows * core.warp_columns > 32)
    return "a matrix instruction needs 1 to 32 warps";
  if (std::max(gemm.tile.rows, gemm.tile.columns) > kLargestTile || gemm.tile.rows < 1 ||
      gemm.tile.rows % (kCoreRows * core.warp_rows) != 0)
    return fmt::format("{} rows are not warps of multiples of {}", gemm.tile.rows, kCoreRows);
  if (gemm.tile.columns % core.warp_columns != 0)
    return fmt::format("{} columns by {} warps", gemm.tile.columns, core.warp_columns);
  if (Reason reason = wrong_columns(gemm.schedule, gemm.roles, gemm.tile))
    return reason;
  if (Reason reason = wrong_turned(gemm.roles, gemm.tile))
    return reason;
  const std::int64_t bytes = gemm.tile.row_bytes();
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return fmt::format("a step of {} bytes of depth; it needs 32, 64 or 128", bytes);
  if (step_stages(gemm.schedule) < 2 || step_stages(gemm.schedule) > kMostRing)
    return fmt::format("a ring of {} buffers; it needs 2 to {}", step_stages(gemm.schedule),
                       kMostRing);
  return {};
}

} // namespace

namespace {

// What copies the tiles of both inputs, and what their buffers hold.
Reason wrong_pipes(const Gemm &gemm) {
  const CoreRoles &roles = gemm.roles;
  const Schedule &schedule = gemm.schedule;
  const CoreOp &op = *schedule.core.op;
  const Pipe &data = schedule.pipes[at(roles.data)];
  const Pipe &filter = schedule.pipes[at(roles.filter)];
  const bool is_tma = is_wgmma(op);
  const Engine of_mma = core_gathers(gemm, roles.data) ? Engine::Items : Engine::CpAsync;
  if (filter.engine != (is_tma ? Engine::Tma : Engine::CpAsync) ||
      (is_tma ? data.engine == Engine::Items : data.engine != of_mma))
    return fmt::format("{} does not read what {} and {} copy", op.name, kEngines[data.engine],
                       kEngines[filter.engine]);
  const bool is_halo = data.footprint == Footprint::Halo;
  if (data.footprint == Footprint::Resident || filter.footprint == Footprint::Halo ||
      (!is_tma && (is_halo || filter.footprint != Footprint::Step)))
    return fmt::format("{} has no {} data beside a {} filter", op.name, kFootprints[data.footprint],
                       kFootprints[filter.footprint]);
  return is_halo || data.stages == filter.stages
             ? Reason{}
             : fmt::format("{} and {} stages of pipes that are filled together", data.stages,
                           filter.stages);
}

} // namespace

std::optional<std::string> wrong_core(const Nest &nest, const Schedule &schedule,
                                      const Target &target) {
  if (schedule.lanes != LaneKind::WorkItem || !has(target, Feature::MatrixUnits))
    return "matrix instructions need a CUDA target";
  if (Reason reason = no_core_roles(nest))
    return reason;
  const CoreOp *op = schedule.core.op;
  if (!is_wgmma(*op) && op != core_op_for(nest, op->tf32))
    return fmt::format("{} does not multiply the nest's types in steps of {} bytes", op->name,
                       kStepBytes);
  const CoreRoles roles = core_roles(nest, schedule);
  if (schedule.order.back() != IndexId{roles.depth()})
    return "the depth is not the innermost loop";
  for (std::size_t i = 0; i < schedule.splits.size(); ++i) {
    const Split &split = schedule.splits[i];
    const auto index = static_cast<IndexId>(i);
    const bool in_box = is_wgmma(*op) && std::find(roles.pixels.begin(), roles.pixels.end(),
                                                   index) != roles.pixels.end();
    const bool is_free = index == roles.channel || index == roles.depth() || in_box;
    const std::int64_t whole = is_output(nest, index) ? 1 : nest.indices[i].extent;
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
  const Gemm gemm = gemm_of(nest, schedule);
  if (Reason reason = wrong_pipes(gemm))
    return reason;
  if (is_wgmma(*op))
    return wrong_wgmma(gemm, target);
  if (schedule.tiles.persistent != 0 || schedule.roles.math.instances != 1 ||
      schedule.tiles.cluster() != 1 || schedule.core.swap_ab || schedule.store == Store::Tma)
    return "blocks and groups of warps share tiles of wgmma alone, which alone are swapped or "
           "leave in boxes";
  if (schedule.core.k_inner)
    return "only the order of wgmma's instructions is a choice";
  if (Reason reason = wrong_tile(gemm))
    return reason;
  if (Reason reason = wrong_blocks(gemm))
    return reason;
  for (const int input : {roles.data, roles.filter})
    if (Reason reason = wrong_copies(gemm, input))
      return reason;
  if (group_size(schedule) > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", group_size(schedule),
                       target.max_group);
  return wrong_local_memory(local_buffers(gemm), target);
}

} // namespace tilefuse::schedule
