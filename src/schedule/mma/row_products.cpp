// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/row_products.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core_legal.h"
#include "schedule/mma/core_pipes.h"
#include "schedule/mma/core_roles.h"
#include "target/features.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using poly::Group;
using poly::kAnchor;
using poly::MemberId;
using Reason = std::optional<std::string>;

// Of addresses, statistics and what instructions read.
constexpr std::int64_t kBesideRows = 48;
constexpr std::int64_t kLeastTurned = 32; // columns of results that warps exchange

bool is_power(std::int64_t value) { return (value & (value - 1)) == 0; }

// Columns that warps share in whole units: those that an instruction of the second product reads
// as depth, or of its results those of one.
std::int64_t shared_columns(const Gemm &gemm) {
  const std::int64_t unit = gemm.roles.filter_turned ? kCoreColumns : 2 * kCoreColumns;
  return std::max(2 * kCoreColumns, unit * gemm.core().warp_columns);
}

// Rows of 16 a warp, all of a product's columns and all of its depth at once.
Reason wrong_tile(const Gemm &gemm) {
  const Core &core = gemm.core();
  const CoreTile &tile = gemm.tile;
  const CoreRoles &roles = gemm.roles;
  const std::int64_t rows = kCoreRows * core.warp_rows;
  return outside(
      {{"warps.n", core.warp_columns, 1, kNoEnd},
       {"warps.m", core.warp_rows, 1, kNoEnd},
       {"tile.rows", core.rows, rows, rows},
       {"tile.columns", tile.columns, roles.channel_points, kNoEnd, shared_columns(gemm)},
       {"tile.depth", tile.depth, roles.depth_points, kNoEnd}});
}

Reason wrong_product(const Nest &nest, const Schedule &own, const Target &target) {
  if (Reason reason = no_core_roles(nest, false))
    return reason;
  const auto is_plain = [&](const CoreRoles &roles) {
    return !roles.data_turned && !roles.data_apart && roles.depths.size() == 1 &&
           roles.walked.empty() && roles.channels.size() == 1 &&
           !(roles.filter_turned && own.core.op->b.turned == Turned::Words);
  };
  if (own.splits.size() != nest.indices.size() || !has_core(own) || is_wgmma(*own.core.op) ||
      !is_plain(core_roles(nest, own)))
    return "rows stay with instructions of a warp, for one column, one depth and straight data";
  if (Reason reason = wrong_core_target(nest, own, target))
    return reason;
  if (Reason reason = wrong_core_loops(nest, own))
    return reason;
  return wrong_tile(gemm_of(nest, own));
}

Reason wrong_copies(const Gemm &gemm, int input) {
  const std::int64_t each = core_copy_elems(gemm, input);
  const CoreSideTile side = core_side_tile(gemm.roles, gemm.tile, input);
  const std::int64_t bytes = side.elems * gemm.tile.elem_bytes;
  const bool is_read =
      bytes >= kStepBytes && is_power(bytes) && (gemm.roles.is_turned(input) || bytes <= 128);
  if (gemm.schedule.fills[at(input)] != Fill::Direct || each == 0 || core_cuts_runs(gemm, input) ||
      gemm.schedule.pipes[at(input)] != Pipe{.engine = Engine::CpAsync} || !is_read)
    return fmt::format("input {} in rows of {} bytes; beside rows one of 32, 64 or 128 is copied "
                       "once, in whole runs",
                       input, bytes);
  const bool is_data = input == gemm.roles.data;
  return wrong_sharing(is_data ? copying_items(gemm) : group_size(gemm.schedule), side.rows,
                       side.elems / each);
}

// Both products walk rows by the same indices in the same order, and hold them alike.
bool are_rows_of(const Group &group, const Gemm &first, const Gemm &second) {
  const poly::RowPlaces places = row_places(group).value();
  const auto is_alike = [&](const std::vector<IndexId> &a, const std::vector<IndexId> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](IndexId i, IndexId j) {
      return extent(first.nest, i) == extent(second.nest, j) &&
             places[poly::first_product(group)][i] == places[kAnchor][j];
    });
  };
  return is_alike(first.roles.pixels, second.roles.pixels) &&
         is_alike(first.roles.grid, second.roles.grid) &&
         places[poly::first_product(group)][first.roles.channel] == 1 &&
         first.tile.columns == second.tile.depth && first.core() == second.core();
}

// How the second product takes rows, and how work-items end with each product's columns.
bool takes_rows(const Group &group, const Gemm &first, const Gemm &second) {
  return second.roles.data == poly::row_input(group) && second.roles.filter_turned &&
         !first.roles.filter_turned && second.tile.columns >= kLeastTurned &&
         second.schedule.fills[at(second.roles.data)] == Fill::Produced &&
         first.schedule.splits[first.roles.channel].vec == kPairs &&
         second.schedule.splits[second.roles.channel].vec == kExchangeVec;
}

} // namespace

std::optional<IndexId> index_like(const Group &group, IndexId of_first) {
  const poly::RowPlaces places = row_places(group).value();
  const std::int64_t place = places[poly::first_product(group)][of_first];
  for (const IndexId i : output_indices(group.anchor))
    if (place > 1 && places[kAnchor][i] == place)
      return i;
  return std::nullopt;
}

std::int64_t copying_items(const Gemm &first) {
  const CoreSideTile side = core_side_tile(first.roles, first.tile, first.roles.data);
  const std::int64_t each = core_copy_elems(first, first.roles.data);
  return std::min(group_size(first.schedule), side.rows * side.elems / each);
}

std::int64_t row_registers(const Gemm &first, const Gemm &second) {
  const std::int64_t of_row = kCoreRows * first.tile.warp_columns / kCoreLanes;
  const std::int64_t results = kCoreRows * second.tile.columns / kCoreLanes;
  const std::int64_t rows = of_row + of_row * second.tile.elem_bytes / 4 / 2;
  return std::max(rows, of_row * second.tile.elem_bytes / 4 + results) + kBesideRows;
}

Reason wrong_rows(const Group &group, const Schedule &schedule, const Target &target) {
  const MemberId first = poly::first_product(group);
  if (schedule.producers.size() != group.producers.size())
    return fmt::format("it has schedules for {} producers, the group has {}",
                       schedule.producers.size(), group.producers.size());
  for (const MemberId m : {first, kAnchor})
    if (Reason reason = wrong_product(member_nest(group, m), member_schedule(schedule, m), target))
      return fmt::format("member {}: {}", m, *reason);
  const Gemm one = gemm_of(member_nest(group, first), member_schedule(schedule, first));
  const Gemm two = gemm_of(group.anchor, schedule);
  if (one.core().warp_rows != two.core().warp_rows ||
      one.core().warp_columns != two.core().warp_columns)
    return fmt::format("the first product leaves rows in {} x {} warps, the second takes them from "
                       "{} x {}",
                       one.core().warp_rows, one.core().warp_columns, two.core().warp_rows,
                       two.core().warp_columns);
  if (!are_rows_of(group, one, two) || !takes_rows(group, one, two))
    return fmt::format("{} columns of the first product, in pairs, are not taken as {} of depth of "
                       "the second, beside a turned filter, in runs of {}",
                       one.tile.columns, two.tile.depth, kExchangeVec);
  if (Reason reason = outside({"work_items", group_size(schedule), 1, target.max_group}))
    return reason;
  for (const auto &[gemm, input] :
       {std::pair(&one, one.roles.data), {&one, one.roles.filter}, {&two, two.roles.filter}})
    if (Reason reason = wrong_copies(*gemm, input))
      return reason;
  if (Reason reason =
          outside({"row.registers", row_registers(one, two), 0, target.vector_registers}))
    return reason;
  std::vector<LocalBuffer> buffers;
  for (const MemberId m : members(group))
    for (LocalBuffer &buffer : local_buffers(group, schedule, m, member_nest(group, m)))
      buffers.push_back(std::move(buffer));
  return wrong_local_memory(buffers, target);
}

} // namespace tilefuse::schedule
