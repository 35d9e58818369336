// SPDX-License-Identifier: Apache-2.0
#include "search/forms/core_tiles.h"

#include <algorithm>

#include "base/index.h"
#include "schedule/legal.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::CoreRoles;
using schedule::CoreTile;
using schedule::Engine;
using schedule::Fill;
using schedule::Gemm;
using schedule::scalar_schedule;
using schedule::Split;

constexpr std::int64_t kAccumulators = 128; // of a work-item

// What is gathered waits in 4 registers a run beside the accumulators and each copy's address; those
// of two turned inputs take more.
bool warps_spill(const Gemm &gemm, const Target &target) {
  constexpr std::int64_t kCopies = 16;
  constexpr std::int64_t kRunRegisters = 4;
  constexpr std::int64_t kAddressRegisters = 3;
  constexpr std::int64_t kMostRegisters = 170; // of these
  const CoreTile &tile = gemm.tile;
  const std::int64_t work_items = kCoreLanes * tile.warps();
  std::int64_t gathered = 0;
  for (const int input : {gemm.roles.data, gemm.roles.filter})
    if (core_gathers(gemm, input)) {
      const schedule::CoreSideTile side = core_side_tile(gemm.roles, tile, input);
      gathered += side.rows * side.elems / tile.chunk();
    }
  const std::int64_t chunks = (tile.rows + tile.columns) * tile.row_bytes() / 16;
  if (gathered > 0)
    return tile.rows * tile.columns + kRunRegisters * gathered + kAddressRegisters * chunks >
           kMostRegisters * work_items;
  if (!has(target, Quirk::TurnedCopiesSpill) || !gemm.roles.data_turned ||
      !gemm.roles.filter_turned)
    return false;
  return tile.rows * tile.columns >= kAccumulators * work_items && chunks > kCopies * work_items;
}

bool groups_spill(const Gemm &gemm, const Target &target) {
  constexpr std::int64_t kWidest = 256;
  const bool is_in_turn = gemm.schedule.roles.math.instances > 1;
  if (has(target, Quirk::WideGatherSpills) && has_loading_warps(gemm.schedule) && is_in_turn &&
      gemm.core().op->n == kWidest)
    return true;
  if (has(target, Quirk::BoxPlacesSpill) && gemm.schedule.store == schedule::Store::Tma &&
      gemm.core().warp_rows > 2 && result_map(gemm).is_im2col())
    return true;
  return has(target, Quirk::WideResidualSpills) && has_box(gemm) && is_in_turn &&
         gemm.tile.warp_rows * gemm.tile.warp_columns >= kAccumulators * schedule::kGroupItems &&
         std::any_of(gemm.nest.extras.begin(), gemm.nest.extras.end(),
                     [&](const nest::Operand &extra) {
                       const nest::Slot &slot = gemm.nest.slots[extra.slot];
                       return size_bytes(slot.type) == 4 &&
                              slot.elems >= gemm.nest.slots[gemm.nest.out.slot].elems;
                     });
}

// Rows wider than the depth fills copy nothing but padding, and tiles wider than there are channels
// compute nothing else.
bool wastes(const Gemm &gemm) {
  const CoreTile &tile = gemm.tile;
  const bool is_of_wgmma = gemm.is_wgmma();
  const std::int64_t narrowest = is_of_wgmma ? 16 : 32; // columns
  const std::int64_t columns = is_of_wgmma ? column_plan(gemm).columns : gemm.roles.channel_points;
  return (tile.columns > narrowest && tile.columns >= 2 * columns) ||
         (tile.row_bytes() > 32 && tile.depth >= 2 * gemm.roles.depth_points);
}

// Whether runs of the result would be stored by single elements, which neighbouring work-items had
// better do.
bool stores_single(const Nest &nest, const Schedule &schedule) {
  const Gemm gemm = gemm_of(nest, schedule);
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  return out.coeff[gemm.roles.channel] == 1 && !reads_words(gemm, gemm.roles.data) &&
         !reads_words(gemm, gemm.roles.filter) &&
         aligned_run(gemm) < schedule.splits[at(gemm.roles.channel)].vec;
}

void order_loops(const Nest &nest, Schedule &schedule) {
  const auto outputs = schedule.order.begin() + nest.output_indices;
  const auto by_memory = [&](auto begin, auto end, const nest::Operand &operand) {
    const nest::Linear flat = nest::flat(operand, nest.indices.size());
    std::stable_sort(begin, end, [&](nest::IndexId a, nest::IndexId b) {
      return flat.coeff[a] > flat.coeff[b];
    });
  };
  by_memory(schedule.order.begin(), outputs, nest.out);
  const CoreRoles roles = core_roles(nest, schedule);
  if (roles.depths.size() > 1 && !roles.has_blocks())
    return by_memory(outputs, schedule.order.end(), nest.inputs[0]);
  const auto depth = std::find(schedule.order.begin(), schedule.order.end(), roles.depth());
  std::rotate(depth, depth + 1, schedule.order.end());
  // The blocks around it, which tensor copies step over.
  const auto blocks = std::find(outputs, schedule.order.end(), roles.depths.front());
  if (roles.has_blocks() && is_wgmma(*schedule.core.op))
    std::rotate(blocks, blocks + 1, schedule.order.end() - 1);
}

} // namespace

bool pays(const Nest &nest, const Schedule &schedule, const Target &target) {
  if (illegal(nest, schedule, target))
    return false;
  const Gemm gemm = gemm_of(nest, schedule);
  const auto spill = is_wgmma(*schedule.core.op) ? groups_spill : warps_spill;
  return !wastes(gemm) && !spill(gemm, target);
}

NamedSchedule misfit(std::string_view name, const Nest &nest, const Schedule &last,
                     const Target &target) {
  return misfit(name, illegal(nest, last, target).value_or("every tile is mostly empty"));
}

Schedule core_form(const Nest &nest, const CoreOp &op, std::string_view name,
                   const TileSizes &sizes) {
  Schedule schedule = scalar_schedule(nest);
  schedule.name = name;
  schedule.lanes = LaneKind::WorkItem;
  schedule.core = {.op = &op,
                   .rows = sizes.rows,
                   .warp_rows = sizes.warp_rows,
                   .warp_columns = sizes.warp_columns,
                   .swap_ab = sizes.swap_ab};
  schedule.roles.math.instances = sizes.turns;
  const bool is_of_wgmma = is_wgmma(op);
  for (schedule::Pipe &pipe : schedule.pipes)
    pipe = {.engine = is_of_wgmma ? Engine::Tma : Engine::CpAsync, .stages = sizes.stages};
  order_loops(nest, schedule);
  const CoreRoles roles = core_roles(nest, schedule);
  Split &channel = schedule.splits[at(roles.channel)];
  channel.tile = sizes.columns;
  channel.vec = roles.filter_turned ? turned_run(gemm_of(nest, schedule))
                                    : sizes.columns / sizes.warp_columns / 8;
  schedule.splits[at(roles.depth())].tile = sizes.row_bytes / size_bytes(op.a.type);
  if (!is_of_wgmma && stores_single(nest, schedule))
    channel.vec = 1;
  if (nest.inputs[at(roles.filter)].constant && !roles.filter_turned &&
      (is_of_wgmma || !roles.has_blocks()))
    schedule.fills[at(roles.filter)] = Fill::Packed;
  for (const int input : {roles.data, roles.filter})
    if (!is_of_wgmma && core_gathers(gemm_of(nest, schedule), input))
      schedule.pipes[at(input)].engine = Engine::Items;
  return schedule;
}

} // namespace tilefuse::search
