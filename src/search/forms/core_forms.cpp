// SPDX-License-Identifier: Apache-2.0
#include "search/forms/core_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/index.h"
#include "schedule/blocks.h"
#include "schedule/legal.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::core_op_for;
using schedule::CoreRoles;
using schedule::CoreTile;
using schedule::Fill;
using schedule::Gemm;
using schedule::kExchangeVec;
using schedule::no_core_roles;
using schedule::scalar_schedule;
using schedule::Schedule;
using schedule::Split;

constexpr std::string_view kPlain = "mma";
constexpr std::string_view kTf32 = "mma_tf32";
constexpr std::string_view kBlocks = "mma_nchw32";
constexpr std::int64_t kBlockBytes = 32;

struct Sizes {
  std::int64_t rows, columns, warp_rows, warp_columns;
};

// Warps of 64 x 64 results need 128 accumulators a work-item; smaller ones are for few blocks and
// few channels.
constexpr std::array<Sizes, 12> kSizes = {{
    {256, 128, 4, 2},
    {128, 256, 2, 4},
    {128, 128, 2, 2},
    {256, 64, 4, 1},
    {64, 256, 1, 4},
    {128, 64, 2, 2},
    {64, 128, 2, 2},
    {64, 64, 2, 2},
    {128, 32, 4, 1},
    {32, 128, 1, 4},
    {64, 32, 2, 1},
    {32, 32, 2, 1},
}};
constexpr std::array kRowBytes = {128, 64, 32};
constexpr std::array kRings = {4, 3, 2};

// What is gathered waits in 8 registers a run; addresses of two turned inputs take more.
bool spills(const Gemm &gemm, const Target &target) {
  constexpr std::int64_t kLanes = 32;
  constexpr std::int64_t kCopies = 16;
  constexpr std::int64_t kAccumulators = 128;
  constexpr std::int64_t kGathered = 4;
  const CoreTile &tile = gemm.tile;
  const std::int64_t work_items = kLanes * gemm.core().warp_rows * gemm.core().warp_columns;
  if (core_gathers(gemm, gemm.roles.data))
    return tile.rows * tile.row_bytes() / 16 > kGathered * work_items;
  if (!has(target, Quirk::TurnedCopiesSpill) || !gemm.roles.data_turned ||
      !gemm.roles.filter_turned)
    return false;
  const std::int64_t chunks = (tile.rows + tile.columns) * tile.row_bytes() / 16;
  return tile.rows * tile.columns >= kAccumulators * work_items && chunks > kCopies * work_items;
}

} // namespace

bool wastes(const Gemm &gemm) {
  const CoreTile &tile = gemm.tile;
  const bool is_of_wgmma = is_wgmma(*gemm.core().op);
  const std::int64_t narrowest = is_of_wgmma ? 16 : 32; // columns
  const std::int64_t columns = is_of_wgmma ? column_plan(gemm).columns : gemm.roles.channel_points;
  return (tile.columns > narrowest && tile.columns >= 2 * columns) ||
         (tile.row_bytes() > 32 && tile.depth >= 2 * gemm.roles.depth_points);
}

void order_core(const Nest &nest, Schedule &schedule) {
  const auto outputs = schedule.order.begin() + nest.output_indices;
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  std::stable_sort(schedule.order.begin(), outputs,
                   [&](nest::IndexId a, nest::IndexId b) { return out.coeff[a] > out.coeff[b]; });
  const CoreRoles roles = core_roles(nest, schedule);
  if (roles.depths.size() == 1 || roles.has_blocks()) {
    const nest::IndexId depth{roles.depth()};
    schedule.order.erase(std::find(schedule.order.begin(), schedule.order.end(), depth));
    schedule.order.push_back(depth);
    return;
  }
  const nest::Linear in = nest::flat(nest.inputs[0], nest.indices.size());
  std::stable_sort(outputs, schedule.order.end(),
                   [&](nest::IndexId a, nest::IndexId b) { return in.coeff[a] > in.coeff[b]; });
}

Schedule core_form(const Nest &nest, const CoreOp &op, std::string_view name,
                   const CoreSizes &sizes) {
  Schedule schedule = scalar_schedule(nest);
  schedule.name = name;
  schedule.lanes = LaneKind::WorkItem;
  schedule.core = {.op = &op,
                   .rows = sizes.rows,
                   .warp_rows = sizes.warp_rows,
                   .warp_columns = sizes.warp_columns};
  for (schedule::Pipe &pipe : schedule.pipes)
    pipe = {.engine = schedule::Engine::CpAsync, .stages = sizes.ring};
  order_core(nest, schedule);
  const CoreRoles roles = core_roles(nest, schedule);
  Split &channel = schedule.splits[at(roles.channel)];
  channel.tile = sizes.columns;
  channel.vec = roles.filter_turned ? kExchangeVec : sizes.columns / sizes.warp_columns / 8;
  schedule.splits[at(roles.depth())].tile = sizes.row_bytes / size_bytes(op.a.type);
  if (nest.inputs[at(roles.filter)].constant && !roles.filter_turned && !roles.has_blocks())
    schedule.fills[at(roles.filter)] = Fill::Packed;
  if (core_gathers(gemm_of(nest, schedule), roles.data))
    schedule.pipes[at(roles.data)].engine = schedule::Engine::Items;
  return schedule;
}

std::vector<Schedule> core_schedules(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (no_core_roles(nest))
    return found;
  const CoreOp *op = core_op_for(nest, tf32);
  if (op == nullptr)
    return found;
  for (const Sizes &sizes : kSizes)
    for (const std::int64_t row_bytes : kRowBytes)
      for (const int ring : kRings) {
        Schedule schedule = core_form(
            nest, *op, tf32 ? kTf32 : kPlain,
            {sizes.rows, sizes.columns, sizes.warp_rows, sizes.warp_columns, row_bytes, ring});
        if (illegal(nest, schedule, target))
          continue;
        const Gemm gemm = gemm_of(nest, schedule);
        if (!wastes(gemm) && !spills(gemm, target))
          found.push_back(std::move(schedule));
      }
  return found;
}

bool is_core_algorithm(std::string_view name) {
  return name == kPlain || name == kTf32 || name == kBlocks;
}

namespace {

// The schedules of the source: 128 or 64 channels by 128 pixels, steps of two blocks, two of them
// in flight.
NamedSchedule blocks_schedule(const Nest &nest, const Target &target) {
  const CoreOp *op = core_op_for(nest, false);
  const CoreRoles roles = core_roles(nest, scalar_schedule(nest));
  const std::int64_t block = nest.indices[at(roles.depth())].extent;
  if (op == nullptr || !roles.has_blocks() || block * size_bytes(op->a.type) != kBlockBytes)
    return misfit(kBlocks,
                  fmt::format("its channels do not lie in blocks of {} bytes", kBlockBytes));
  std::string reason;
  for (const CoreSizes &sizes :
       {CoreSizes{128, 128, 2, 2}, CoreSizes{128, 64, 2, 2}, CoreSizes{64, 32, 2, 1}}) {
    Schedule schedule = core_form(nest, *op, kBlocks, sizes);
    const std::optional<std::string> wrong = illegal(nest, schedule, target);
    if (!wrong && !wastes(gemm_of(nest, schedule)))
      return {std::move(schedule), {}};
    reason = wrong.value_or("every tile is mostly empty");
  }
  return misfit(kBlocks, reason);
}

} // namespace

NamedSchedule named_core_schedule(std::string_view name, const Nest &nest, const Target &target) {
  if (const std::optional<std::string> reason = no_core_roles(nest))
    return misfit(name, *reason);
  if (name == kBlocks)
    return blocks_schedule(nest, target);
  const CoreOp *op = core_op_for(nest, name == kTf32);
  if (op == nullptr)
    return misfit(name, "no instruction multiplies its types");
  const std::vector<Schedule> all = core_schedules(nest, target, name == kTf32);
  if (all.empty()) {
    const Schedule last =
        core_form(nest, *op, name,
                  {kSizes.back().rows, kSizes.back().columns, kSizes.back().warp_rows,
                   kSizes.back().warp_columns, kRowBytes.back(), kRings.back()});
    return misfit(name, illegal(nest, last, target).value_or("every tile is mostly empty"));
  }
  return {filling(all, target, [&](const Schedule &each) { return blocks(nest, each); }), {}};
}

} // namespace tilefuse::search
