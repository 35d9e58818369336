// SPDX-License-Identifier: Apache-2.0
#include "schedule/tile_join.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/flatten/merge.h"
#include "schedule/blocks.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "target/tickets.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kMostLoads = 8; // parts whose loads are under way together
constexpr std::int64_t kFullVec = 4;

constexpr std::int64_t kMostGroups = 2; // of warps that multiply, beside the producer (NVRTC 13.0)

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A run of a block's number: output indices of the partial nest taken as one number, slowest first,
// and how many points of it a tile has. Parts stand alone.
struct Axis {
  std::vector<int> indices;
  std::int64_t tile = 1;
};

std::int64_t points(const Nest &nest, const Axis &axis) {
  std::int64_t count = 1;
  for (const int i : axis.indices)
    count *= nest.indices[at(i)].extent;
  return count;
}

std::vector<Axis> axes_of_loops(const Nest &nest, const Schedule &schedule) {
  std::vector<Axis> axes;
  for (auto i = schedule.order.rbegin(); i != schedule.order.rend(); ++i)
    if (*i < nest.output_indices)
      axes.push_back({{*i}, schedule.splits[at(*i)].tile});
  return axes;
}

// Columns before rows.
std::vector<Axis> axes_of_core(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  std::vector<Axis> axes = {{roles.channels, tile.columns}, {roles.pixels, tile.rows}};
  for (const int i : roles.grid)
    axes.push_back({{i}, 1});
  return axes;
}

// Likewise.
std::vector<Axis> axes_of_wgmma(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  const ColumnPlan plan = column_plan(nest, schedule);
  std::vector<Axis> axes = {{plan.taps, tile.columns}};
  axes[0].indices.insert(axes[0].indices.end(), roles.channels.begin(), roles.channels.end());
  if (has_box(nest, schedule))
    for (auto i = roles.pixels.rbegin(); i != roles.pixels.rend(); ++i)
      axes.push_back({{*i}, schedule.splits[at(*i)].tile});
  else
    axes.push_back({roles.pixels, tile.rows});
  for (auto i = plan.parts.rbegin(); i != plan.parts.rend(); ++i)
    axes.push_back({{*i}, 1});
  return axes;
}

bool is_wgmma_schedule(const Schedule &schedule) {
  return has_core(schedule) && is_wgmma(*schedule.core.op);
}

std::vector<Axis> axes_of(const Nest &nest, const Schedule &schedule) {
  if (!has_core(schedule))
    return axes_of_loops(nest, schedule);
  std::vector<Axis> axes =
      is_wgmma_schedule(schedule) ? axes_of_wgmma(nest, schedule) : axes_of_core(nest, schedule);
  const bool in_box = is_wgmma_schedule(schedule) && has_box(nest, schedule);
  const std::size_t rows = in_box ? core_roles(nest, schedule).pixels.size() : 1;
  if (schedule.core.raster == Raster::Rows)
    std::rotate(axes.begin(), axes.begin() + 1,
                axes.begin() + 1 + static_cast<std::ptrdiff_t>(rows));
  return axes;
}

class Maker {
public:
  Maker(const Nest &partial, const Schedule &schedule, const Nest &join, const Target &target)
      : partial_(partial), of_(schedule), target_(target),
        parts_(partial.output_indices - join.output_indices) {
    join_.nest = join;
  }

  TileJoin run() {
    join_.refusal = refusal();
    if (join_.refusal.empty())
      join_.refusal = walk();
    if (join_.refusal.empty())
      join_.refusal = cut();
    return std::move(join_);
  }

private:
  std::string refusal() const {
    if (tickets(target_) == Tickets::None)
      return "blocks of the target cannot count themselves in";
    if (!is_wgmma_schedule(of_))
      return {};
    if (of_.core.cluster() > 1)
      return "blocks run in clusters";
    if (of_.core.warp_rows * of_.core.warp_columns > kMostGroups)
      return "groups of warps leave no registers to join with";
    const bool is_alone =
        of_.core.turns == 1 && blocks(partial_, of_) == tile_grid(partial_, of_).clusters();
    if (!is_alone)
      return "a block takes several tiles";
    const ColumnPlan plan = column_plan(partial_, of_);
    const std::vector<Axis> axes = axes_of_wgmma(partial_, of_);
    return plan.columns == points(partial_, axes[0]) ? "" : "columns are padded to panels";
  }

  // The digits of a block's number, and the join's indices as these take them.
  std::string walk() {
    std::vector<int> now(at(join_.nest.output_indices)); // of an output index: where it is by now
    std::iota(now.begin(), now.end(), 0);
    std::vector<bool> is_seen(at(partial_.output_indices), false);
    std::vector<Axis> axes = axes_of(partial_, of_);
    for (Axis &axis : axes) {
      for (const int i : axis.indices)
        is_seen[at(i)] = true;
      const std::int64_t count = ceil_div(points(partial_, axis), axis.tile);
      if (axis.indices.size() == 1 && axis.indices[0] < parts_) {
        if (axis.tile != 1)
          return "a block computes several parts";
        join_.walk.digits.push_back({-1, count});
        continue;
      }
      std::vector<int> indices;
      for (const int i : axis.indices) {
        if (i < parts_)
          return "parts are computed as points of a tile";
        indices.push_back(now[at(i - parts_)]);
      }
      const std::optional<nest::MergedNest> merged = merge_into_one(join_.nest, indices);
      if (!merged)
        return "points of a tile do not lie in a row in the result";
      join_.nest = merged->nest;
      for (int &index : now)
        index = merged->at[at(index)];
      join_.walk.digits.push_back({axis.indices[0] - parts_, count});
      tiles_.push_back({axis.indices[0] - parts_, axis.tile});
    }
    for (TileDigit &digit : join_.walk.digits)
      digit.index = digit.index < 0 ? -1 : now[at(digit.index)];
    for (auto &[index, tile] : tiles_)
      index = now[at(index)];
    return std::all_of(is_seen.begin(), is_seen.end(), [](bool seen) { return seen; })
               ? ""
               : "an index of the result is in no tile";
  }

  // A schedule whose blocks fill tiles: neighbours of the result by neighbouring work-items.
  std::string cut() {
    const Nest &nest = join_.nest;
    const std::int64_t items = group_size(of_);
    join_.walk.first_item = is_wgmma_schedule(of_) ? kGroupItems : 0;
    Schedule &schedule = join_.schedule;
    schedule = scalar_schedule(nest);
    schedule.name = "join";
    schedule.lanes = LaneKind::WorkItem;
    std::vector<std::int64_t> tile(at(nest.output_indices), 1);
    std::vector<bool> is_only(at(nest.output_indices), true);
    for (const auto &[index, points] : tiles_) {
      const std::int64_t extent = nest.indices[at(index)].extent;
      tile[at(index)] = std::min(points, extent);
      is_only[at(index)] = points >= extent;
    }
    const std::vector<int> order = by_stride();
    std::int64_t rest = items - join_.walk.first_item;
    std::vector<LanePart> lanes;
    for (const int i : order) {
      Split &split = schedule.splits[at(i)];
      if (i == order[0])
        split.vec = vector_of(tile[at(i)], nest.indices[at(i)].extent);
      split.lane = lanes_of(tile[at(i)] / split.vec, is_only[at(i)], rest);
      split.tile = split.step();
      rest /= split.lane;
      if (split.lane > 1)
        lanes.insert(lanes.begin(), LanePart{i, split.lane});
    }
    if (lanes.size() > 1)
      schedule.lane_parts = lanes;
    for (std::size_t i = at(nest.output_indices); i < nest.indices.size(); ++i)
      schedule.splits[i].keep = largest_divisor(nest.indices[i].extent, kMostLoads);
    for (std::size_t i = 0; i < tile.size(); ++i) {
      join_.walk.blocks.push_back(ceil_div(tile[i], schedule.splits[i].tile));
      join_.walk.grid.push_back(ceil_div(nest.indices[i].extent, schedule.splits[i].tile));
    }
    return illegal(nest, schedule, target_).value_or("");
  }

  // Output indices, that of neighbours first.
  std::vector<int> by_stride() const {
    const nest::Linear from = nest::flat(join_.nest.inputs[0], join_.nest.indices.size());
    std::vector<int> order(at(join_.nest.output_indices));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::llabs(from.coeff[at(a)]) < std::llabs(from.coeff[at(b)]);
    });
    return order;
  }

  static std::int64_t largest_divisor(std::int64_t of, std::int64_t most) {
    std::int64_t found = std::min(of, most);
    while (of % found != 0)
      --found;
    return found;
  }

  static std::int64_t vector_of(std::int64_t tile, std::int64_t extent) {
    std::int64_t vec = kFullVec;
    while (tile % vec != 0 || extent % vec != 0)
      vec /= 2;
    return vec;
  }

  // Tiles begin where a block of the join does; the only one may end inside its last.
  static std::int64_t lanes_of(std::int64_t points, bool is_only, std::int64_t most) {
    return is_only ? std::min(points, most) : largest_divisor(points, most);
  }

  const Nest &partial_;
  const Schedule &of_;
  const Target &target_;
  const int parts_;
  TileJoin join_;
  std::vector<std::pair<int, std::int64_t>> tiles_; // of the join's indices: points of a tile
};

} // namespace

std::int64_t TileWalk::tiles() const {
  std::int64_t count = 1;
  for (const TileDigit &digit : digits)
    count *= digit.index < 0 ? 1 : digit.count;
  return count;
}

std::int64_t TileWalk::parts() const {
  std::int64_t count = 1;
  for (const TileDigit &digit : digits)
    count *= digit.index < 0 ? digit.count : 1;
  return count;
}

TileJoin tile_join(const Nest &partial, const Schedule &schedule, const Nest &join,
                   const Target &target) {
  return Maker(partial, schedule, join, target).run();
}

} // namespace tilefuse::schedule
