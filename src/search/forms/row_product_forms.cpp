// SPDX-License-Identifier: Apache-2.0
#include "search/forms/row_product_forms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "search/forms/core_forms.h"

namespace tilefuse::search {
namespace {

using schedule::kCoreRows;

constexpr std::string_view kName = "rows_mma";
constexpr std::int64_t kMostWarps = 8;
constexpr std::int64_t kChunks = 8; // 16 bytes each, of a row that is copied
constexpr std::array<std::int64_t, 4> kSharers = {1, 2, 4, 8}; // warps

// Warps along the rows of a block, and those that share each.
struct Warps {
  std::int64_t rows = 1, sharers = 1;
};

// One of the products, of all columns and all of the depth.
Schedule product_form(const Nest &nest, const CoreOp &op, const Warps &warps, std::int64_t columns,
                      std::int64_t depth) {
  Schedule schedule =
      core_form(nest, op, kName,
                {.rows = kCoreRows * warps.rows,
                 .columns = columns,
                 .warp_rows = warps.rows,
                 .warp_columns = warps.sharers,
                 .row_bytes = depth * static_cast<std::int64_t>(size_bytes(op.a.type))});
  const schedule::CoreRoles roles = core_roles(nest, schedule);
  if (!roles.filter_turned)
    schedule.splits[roles.channel].vec = schedule::kPairs;
  schedule.fills.assign(schedule.fills.size(), schedule::Fill::Direct);
  for (schedule::Pipe &pipe : schedule.pipes)
    pipe = {.engine = schedule::Engine::CpAsync};
  return schedule;
}

} // namespace

std::vector<Schedule> row_product_schedules(const poly::Group &group, const Target &target) {
  const poly::MemberId first = poly::first_product(group);
  const Nest &nest = member_nest(group, first);
  std::vector<Schedule> found;
  if (schedule::no_core_roles(nest, false) || schedule::no_core_roles(group.anchor, false))
    return found;
  const CoreOp *one = schedule::core_op_for(nest);
  const CoreOp *two = schedule::core_op_for(group.anchor);
  if (one == nullptr || two == nullptr)
    return found;
  const schedule::CoreRoles roles = core_roles(nest, schedule::scalar_schedule(nest));
  const schedule::CoreRoles after =
      core_roles(group.anchor, schedule::scalar_schedule(group.anchor));
  const auto power = [](std::int64_t value) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
  };
  const std::int64_t columns = std::max<std::int64_t>(32, power(after.channel_points));
  const auto add = [&](const Warps &warps, std::int64_t chunks) {
    const std::int64_t shared =
        std::lcm(kCoreRows * warps.sharers, kCoreLanes * warps.rows * warps.sharers / chunks);
    const std::int64_t keys = round_up(poly::row_keys(group), shared);
    Schedule schedule = product_form(group.anchor, *two, warps, columns, keys);
    schedule.fills[at(poly::row_input(group))] = schedule::Fill::Produced;
    schedule.pipes[at(poly::row_input(group))] = {};
    schedule.producers.resize(group.producers.size());
    member_schedule(schedule, first) = product_form(
        nest, *one, warps, keys, std::max<std::int64_t>(16, power(roles.depth_points)));
    if (!illegal(group, schedule, target))
      found.push_back(std::move(schedule));
  };
  for (const std::int64_t sharers : kSharers)
    for (std::int64_t rows = kMostWarps / sharers; rows > 0; --rows)
      for (const std::int64_t chunks : {kChunks, kChunks / 2})
        add({.rows = rows, .sharers = sharers}, chunks);
  return found;
}

} // namespace tilefuse::search
