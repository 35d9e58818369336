// SPDX-License-Identifier: Apache-2.0
#include "schedule/tile_join.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/divide.h"
#include "base/index.h"
#include "nest/flatten/merge.h"
#include "nest/index.h"
#include "nest/points.h"
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

// A run of a block's number: output indices of the partial nest taken as one number, slowest first,
// and how many points of it a tile has. Parts stand alone.
struct Axis {
  std::vector<IndexId> indices;
  std::int64_t tile = 1;
};

std::vector<Axis> axes_of_loops(const Nest &nest, const Schedule &schedule) {
  std::vector<Axis> axes;
  for (auto i = schedule.order.rbegin(); i != schedule.order.rend(); ++i)
    if (is_output(nest, *i))
      axes.push_back({{*i}, schedule.splits[*i].tile});
  return axes;
}

// Columns before rows.
std::vector<Axis> axes_of_core(const Gemm &gemm) {
  std::vector<Axis> axes = {{gemm.roles.channels, gemm.tile.columns},
                            {gemm.roles.pixels, gemm.tile.rows}};
  for (const IndexId i : gemm.roles.grid)
    axes.push_back({{i}, 1});
  return axes;
}

// Likewise.
std::vector<Axis> axes_of_wgmma(const Gemm &gemm) {
  const CoreRoles &roles = gemm.roles;
  const ColumnPlan plan = column_plan(gemm);
  std::vector<Axis> axes = {{plan.taps, gemm.tile.columns}};
  axes[0].indices.insert(axes[0].indices.end(), roles.channels.begin(), roles.channels.end());
  if (has_box(gemm))
    for (auto i = roles.pixels.rbegin(); i != roles.pixels.rend(); ++i)
      axes.push_back({{*i}, gemm.schedule.splits[at(*i)].tile});
  else
    axes.push_back({roles.pixels, gemm.tile.rows});
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
  const Gemm gemm = gemm_of(nest, schedule);
  std::vector<Axis> axes = is_wgmma_schedule(schedule) ? axes_of_wgmma(gemm) : axes_of_core(gemm);
  const bool in_box = is_wgmma_schedule(schedule) && has_box(gemm);
  const std::size_t rows = in_box ? gemm.roles.pixels.size() : 1;
  if (schedule.tiles.raster == Raster::Rows)
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
    if (of_.tiles.cluster() > 1)
      return "blocks run in clusters";
    if (of_.core.warp_rows * of_.core.warp_columns > kMostGroups)
      return "groups of warps leave no registers to join with";
    const Gemm gemm = gemm_of(partial_, of_);
    if (of_.roles.math.instances != 1 || core_blocks(gemm) != tile_grid(gemm).clusters())
      return "a block takes several tiles";
    const ColumnPlan plan = column_plan(gemm);
    if (plan.beside > 1 && plan.panels > 1)
      return "columns of a tile's channels lie between taps";
    const std::vector<Axis> axes = axes_of_wgmma(gemm);
    return plan.columns == points_of(partial_, axes[0].indices) ? ""
                                                                : "columns are padded to panels";
  }

  // Of an index of the partial nest: whether it counts parts; else the join's.
  bool is_part(IndexId i) const { return to_int(i) < parts_; }
  IndexId of_join(IndexId i) const { return IndexId{to_int(i) - parts_}; }

  // The digits of a block's number, and the join's indices as these take them.
  std::string walk() {
    const Ids<IndexId> outputs = output_indices(join_.nest);
    Indexed<IndexId, IndexId> now(std::vector(outputs.begin(), outputs.end())); // what became of it
    Indexed<IndexId, bool> is_seen(at(partial_.output_indices), false);
    std::vector<Axis> axes = axes_of(partial_, of_);
    for (Axis &axis : axes) {
      for (const IndexId i : axis.indices)
        is_seen[i] = true;
      const std::int64_t count = ceil_div(points_of(partial_, axis.indices), axis.tile);
      if (axis.indices.size() == 1 && is_part(axis.indices[0])) {
        if (axis.tile != 1)
          return "a block computes several parts";
        join_.walk.digits.push_back({std::nullopt, count});
        continue;
      }
      std::vector<IndexId> indices;
      for (const IndexId i : axis.indices) {
        if (is_part(i))
          return "parts are computed as points of a tile";
        indices.push_back(now[of_join(i)]);
      }
      const std::optional<nest::MergedNest> merged = merge_into_one(join_.nest, indices);
      if (!merged)
        return "points of a tile do not lie in a row in the result";
      join_.nest = merged->nest;
      for (IndexId &index : now)
        index = merged->at[index];
      join_.walk.digits.push_back({of_join(axis.indices[0]), count});
      tiles_.push_back({of_join(axis.indices[0]), axis.tile});
    }
    for (TileDigit &digit : join_.walk.digits)
      digit.index = digit.index ? std::optional(now[*digit.index]) : std::nullopt;
    for (auto &[index, tile] : tiles_)
      index = now[index];
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
    Indexed<IndexId, std::int64_t> tile(at(nest.output_indices), 1);
    Indexed<IndexId, bool> is_only(at(nest.output_indices), true);
    for (const auto &[index, points] : tiles_) {
      const std::int64_t extent = nest::extent(nest, index);
      tile[index] = std::min(points, extent);
      is_only[index] = points >= extent;
    }
    const std::vector<IndexId> order = by_stride();
    std::int64_t rest = items - join_.walk.first_item;
    std::vector<LanePart> lanes;
    for (const IndexId i : order) {
      Split &split = schedule.splits[i];
      if (i == order[0])
        split.vec = vector_of(tile[i], extent(nest, i));
      split.lane = lanes_of(tile[i] / split.vec, is_only[i], rest);
      split.tile = split.step();
      rest /= split.lane;
      if (split.lane > 1)
        lanes.insert(lanes.begin(), LanePart{i, split.lane});
    }
    if (lanes.size() > 1)
      schedule.lane_parts = lanes;
    for (const IndexId i : reduced_indices(nest))
      schedule.splits[i].keep = largest_divisor(extent(nest, i), kMostLoads);
    for (const IndexId i : tile.ids()) {
      join_.walk.blocks.push_back(ceil_div(tile[i], schedule.splits[i].tile));
      join_.walk.grid.push_back(ceil_div(extent(nest, i), schedule.splits[i].tile));
    }
    return illegal(nest, schedule, target_).value_or("");
  }

  // Output indices, that of neighbours first.
  std::vector<IndexId> by_stride() const {
    const nest::Linear from = nest::flat(join_.nest.inputs[0], join_.nest.indices.size());
    const Ids<IndexId> outputs = output_indices(join_.nest);
    std::vector<IndexId> order(outputs.begin(), outputs.end());
    std::stable_sort(order.begin(), order.end(), [&](IndexId a, IndexId b) {
      return std::llabs(from.coeff[a]) < std::llabs(from.coeff[b]);
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
  std::vector<std::pair<IndexId, std::int64_t>> tiles_; // of the join's indices: points of a tile
};

} // namespace

std::int64_t TileWalk::tiles() const {
  std::int64_t count = 1;
  for (const TileDigit &digit : digits)
    count *= digit.index ? digit.count : 1;
  return count;
}

std::int64_t TileWalk::parts() const {
  std::int64_t count = 1;
  for (const TileDigit &digit : digits)
    count *= digit.index ? 1 : digit.count;
  return count;
}

TileJoin tile_join(const Nest &partial, const Schedule &schedule, const Nest &join,
                   const Target &target) {
  return Maker(partial, schedule, join, target).run();
}

} // namespace tilefuse::schedule
