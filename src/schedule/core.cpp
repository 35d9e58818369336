// SPDX-License-Identifier: Apache-2.0
#include "schedule/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "schedule/algorithms.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kStepBytes = 32; // of depth, by one instruction
constexpr int kCoreRows = 16;
constexpr int kCoreColumns = 8;
constexpr int kMostRing = 8;
constexpr std::int64_t kLargestTile = 512;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

std::int64_t extent(const Nest &nest, int i) { return nest.indices[at(i)].extent; }

DType type_of(const Nest &nest, int input) {
  return nest.slots[at(nest.inputs[at(input)].slot)].type;
}

// The index moves the operand by single elements, and nothing else moves that dimension.
bool is_contiguous(const nest::Operand &operand, int index) {
  for (const nest::Dim &dim : operand.dims) {
    if (dim.at.coeff[at(index)] == 0)
      continue;
    const auto others = std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(),
                                      [](std::int64_t coeff) { return coeff != 0; });
    return !dim.guarded && others == 1 && dim.at.constant == 0 &&
           dim.at.coeff[at(index)] * dim.stride == 1;
  }
  return false;
}

bool is_guarded(const nest::Operand &operand) {
  return std::any_of(operand.dims.begin(), operand.dims.end(),
                     [](const nest::Dim &dim) { return dim.guarded; });
}

// The reduced index along which both inputs are contiguous; a filter that is constant can be packed
// to be so. -1: none.
int depth_of(const Nest &nest, const Roles &roles) {
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  for (int i = nest.output_indices; i < static_cast<int>(nest.indices.size()); ++i)
    if (is_contiguous(nest.inputs[at(roles.data)], i) &&
        (filter.constant || is_contiguous(filter, i)))
      return i;
  return -1;
}

std::int64_t step_points(const Nest &nest, const Schedule &schedule) {
  return schedule.splits[at(core_roles(nest, schedule).depth)].tile;
}

// Each work-item copies whole runs of a side's rows.
Reason wrong_copies(const Nest &nest, const Schedule &schedule, int input, std::int64_t rows) {
  const std::int64_t each = core_copy_elems(nest, schedule, input);
  if (each == 0)
    return fmt::format("input {} has no aligned runs of 4 bytes along the depth", input);
  const std::int64_t per_row = step_points(nest, schedule) / each;
  const std::int64_t items = group_size(schedule);
  if (items % per_row != 0 || rows * per_row % items != 0)
    return fmt::format("{} work-items do not share {} rows of {} copies evenly", items, rows,
                       per_row);
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
  const std::int64_t vec = schedule.splits[at(core_roles(nest, schedule).channel)].vec;
  if (tile.columns != kCoreColumns * vec * core.warp_columns || vec < 2)
    return fmt::format("{} columns are not {} warps of {} x vec {}, an even one", tile.columns,
                       core.warp_columns, kCoreColumns, vec);
  const std::int64_t bytes = tile.row_bytes();
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return fmt::format("a step of {} bytes of depth; it needs 32, 64 or 128", bytes);
  if (core.ring < 2 || core.ring > kMostRing)
    return fmt::format("a ring of {} buffers; it needs 2 to {}", core.ring, kMostRing);
  return {};
}

} // namespace

std::optional<std::string> no_core_roles(const Nest &nest) {
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles || !nest.constraints.empty())
    return "it is not an unconstrained sum of products";
  if (roles->channels.empty() || roles->pixels.empty())
    return "it has no channel or no pixel index";
  if (is_guarded(nest.inputs[at(roles->filter)]))
    return "its filter is padded";
  if (depth_of(nest, *roles) < 0)
    return "no reduced index lies contiguously in both inputs";
  return {};
}

CoreRoles core_roles(const Nest &nest, const Schedule &schedule) {
  const std::optional<Roles> roles = roles_of(nest);
  TILEFUSE_CHECK(roles, "a matrix instruction for what is not a sum of products");
  CoreRoles result{.data = roles->data, .filter = roles->filter};
  result.channel = roles->channels.front();
  result.depth = depth_of(nest, *roles);
  for (int i : schedule.order) {
    const auto is_in = [&](const std::vector<int> &list) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    if (i >= nest.output_indices) {
      if (i != result.depth)
        result.walked.push_back(i);
    } else if (is_in(roles->pixels)) {
      result.pixels.push_back(i);
      result.points *= extent(nest, i);
    } else if (i != result.channel) {
      result.grid.push_back(i);
    }
  }
  return result;
}

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
  const int depth = core_roles(nest, schedule).depth;
  const auto size = size_bytes(type_of(nest, input));
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t elems = bytes / size;
    bool divides = elems > 0 && source.offset % elems == 0 && extent(nest, depth) % elems == 0;
    for (const nest::Dim &dim : source.dims)
      for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
        if (i != at(depth))
          divides = divides && dim.at.coeff[i] * dim.stride % elems == 0 &&
                    dim.at.constant * dim.stride % elems == 0;
    if (divides)
      return elems;
  }
  return 0;
}

CoreTile core_tile(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const Core &core = schedule.core;
  CoreTile tile{.rows = core.rows,
                .columns = schedule.splits[at(roles.channel)].tile,
                .depth = schedule.splits[at(roles.depth)].tile};
  tile.warp_rows = tile.rows / std::max<std::int64_t>(1, core.warp_rows);
  tile.warp_columns = tile.columns / std::max<std::int64_t>(1, core.warp_columns);
  tile.elem_bytes = size_bytes(type_of(nest, roles.data));
  return tile;
}

Swizzle core_swizzle(const CoreTile &tile) {
  const std::int64_t chunks = tile.row_bytes() / 16;
  return {.divisor = 8 / chunks, .modulus = chunks};
}

std::int64_t core_blocks(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  std::int64_t count = up(roles.points, tile.rows) * up(extent(nest, roles.channel), tile.columns);
  for (int i : roles.grid)
    count *= extent(nest, i);
  return count;
}

std::int64_t core_steps(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  std::int64_t steps = up(extent(nest, roles.depth), core_tile(nest, schedule).depth);
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
  if (op != core_op_for(nest, op->tf32))
    return fmt::format("{} does not multiply the nest's types in steps of {} bytes", op->name,
                       kStepBytes);
  const CoreRoles roles = core_roles(nest, schedule);
  if (schedule.order.back() != roles.depth)
    return "the contiguous depth is not the innermost loop";
  for (std::size_t i = 0; i < schedule.splits.size(); ++i) {
    const Split &split = schedule.splits[i];
    const int index = static_cast<int>(i);
    const bool is_free = index == roles.channel || index == roles.depth;
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
  if (!is_packed(schedule.fills[at(roles.filter)]) &&
      !is_contiguous(nest.inputs[at(roles.filter)], roles.depth))
    return "the filter is neither packed nor contiguous along the depth";
  if (Reason reason = wrong_tile(nest, schedule))
    return reason;
  const CoreTile tile = core_tile(nest, schedule);
  if (Reason reason = wrong_copies(nest, schedule, roles.data, tile.rows))
    return reason;
  if (Reason reason = wrong_copies(nest, schedule, roles.filter, tile.columns))
    return reason;
  if (group_size(schedule) > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", group_size(schedule),
                       target.max_group);
  const std::int64_t bytes = tile.local_bytes(schedule.core.ring);
  if (bytes > target.local_bytes)
    return fmt::format("staging needs {} bytes per block, the target has {}", bytes,
                       target.local_bytes);
  return {};
}

} // namespace tilefuse::schedule
