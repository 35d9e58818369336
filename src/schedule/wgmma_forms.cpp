// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schedule/core_forms.h"
#include "schedule/wgmma.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::string_view kPlain = "wgmma";
constexpr std::string_view kTf32 = "wgmma_tf32";
constexpr std::string_view kClustered = "wgmma_cluster";

struct Sizes {
  std::int64_t rows, op_columns, group_rows, group_columns;
  int turns = 1;
};

// What besides its sizes tells a form from another.
struct Form {
  std::string_view name;
  std::int64_t row_bytes = 128; // of a step's depth
  bool is_boxed = false;        // pixels of a tile are a box
};

constexpr auto kSizes = std::to_array<Sizes>({
    {256, 128, 2, 1},   {128, 256, 2, 1},   {192, 128, 3, 1},   {128, 128, 1, 1, 2},
    {64, 256, 1, 1, 2}, {256, 64, 1, 1, 2}, {128, 192, 2, 1},   {128, 128, 2, 1},
    {256, 64, 2, 1},    {192, 64, 3, 1},    {128, 96, 2, 1},    {64, 256, 1, 1},
    {64, 192, 1, 1},    {128, 64, 2, 1},    {128, 64, 1, 1, 2}, {64, 128, 1, 1},
    {64, 128, 1, 1, 2}, {256, 32, 2, 1},    {128, 32, 2, 1},    {64, 64, 1, 1},
    {64, 32, 1, 1},     {128, 16, 2, 1},    {64, 16, 1, 1},
});
constexpr std::array kRowBytes = {128, 64, 32};
constexpr std::array kVecs = {8, 4, 2};
constexpr int kMostRing = 8;
constexpr std::int64_t kGroupRows = 64;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// As deep a ring as fits, 8 at most.
int ring_for(const Nest &nest, Schedule schedule, const Target &target) {
  for (schedule.core.ring = kMostRing; schedule.core.ring > 2; --schedule.core.ring)
    if (wgmma_local_bytes(nest, schedule) <= target.local_bytes)
      break;
  return schedule.core.ring;
}

// The rest of a box's rows over pixel indices from the fastest on, with the fewest points that are
// none; of equal ones that with the longest rows.
struct BoxSearch {
  const Nest &nest;
  const std::vector<int> indices; // fastest first
  std::vector<std::int64_t> sizes, best;
  std::int64_t fewest = 0;

  void run(std::size_t place, std::int64_t rows, std::int64_t points) {
    const std::int64_t extent = nest.indices[at(indices[place])].extent;
    const bool is_last = place + 1 == indices.size();
    for (std::int64_t size = rows; size >= 1; --size) {
      if (rows % size != 0 || (is_last && size != rows))
        continue;
      const std::int64_t padded = points * ((extent + size - 1) / size * size);
      sizes[place] = size;
      if (!is_last)
        run(place + 1, rows / size, padded);
      else if (best.empty() || padded < fewest) {
        best = sizes;
        fewest = padded;
      }
    }
  }
};

// Those of blocks: as many neighbours as make rows of a group each, or one.
void choose_box(const Nest &nest, Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  std::vector<int> indices(roles.pixels.rbegin(), roles.pixels.rend());
  std::int64_t rows = schedule.core.rows;
  if (roles.has_blocks()) {
    constexpr std::int64_t kMostNeighbours = 4;
    const int first = pixel_box(nest, schedule).indices.front();
    std::int64_t &neighbours = schedule.splits[at(first)].tile;
    neighbours = rows / kGroupRows;
    if (rows % kGroupRows != 0 || kMostNeighbours % neighbours != 0 ||
        core_tile(nest, schedule).row_bytes() % ring_row_bytes(nest, schedule) != 0)
      neighbours = 1;
    rows /= neighbours;
    indices.erase(std::find(indices.begin(), indices.end(), first));
  }
  if (indices.empty())
    return;
  BoxSearch search{
      .nest = nest, .indices = indices, .sizes = std::vector<std::int64_t>(indices.size(), 1)};
  search.run(0, rows, 1);
  for (std::size_t i = 0; i < indices.size(); ++i)
    schedule.splits[at(indices[i])].tile = search.best[i];
}

Schedule wgmma_schedule(const Nest &nest, const CoreOp &op, const Form &form, const Sizes &sizes,
                        const Target &target) {
  Schedule schedule = scalar_schedule(nest);
  schedule.name = form.name;
  schedule.lanes = LaneKind::WorkItem;
  schedule.core = {.op = &op,
                   .rows = sizes.rows,
                   .warp_rows = sizes.group_rows,
                   .warp_columns = sizes.group_columns,
                   .turns = sizes.turns};
  order_core(nest, schedule);
  const CoreRoles roles = core_roles(nest, schedule);
  Split &channel = schedule.splits[at(roles.channel)];
  channel.tile = sizes.op_columns * sizes.group_columns;
  const std::int64_t channels = roles.channel_points;
  const auto *vec = std::find_if(kVecs.begin(), kVecs.end() - 1, [&](int v) {
    return channels % (4 * v) == 0 && sizes.op_columns % (4 * v) == 0;
  });
  const bool stores_halves = size_bytes(nest.slots[at(nest.out.slot)].type) == 2;
  channel.vec = !roles.filter_turned                         ? *vec
                : stores_halves && channels % kPanelVec == 0 ? static_cast<int>(kPanelVec)
                                                             : kVecs.back();
  schedule.splits[at(roles.depth())].tile = form.row_bytes / size_bytes(op.a.type);
  if (roles.has_blocks())
    std::rotate(std::find(schedule.order.begin(), schedule.order.end(), roles.depths[0]),
                std::find(schedule.order.begin(), schedule.order.end(), roles.depths[0]) + 1,
                schedule.order.end() - 1);
  if (form.is_boxed)
    choose_box(nest, schedule);
  if (nest.inputs[at(roles.filter)].constant && !roles.filter_turned)
    schedule.fills[at(roles.filter)] = Fill::Packed;
  schedule.core.ring = ring_for(nest, schedule, target);
  if (tile_grid(nest, schedule).tiles() > target.compute_units)
    schedule.core.blocks = target.compute_units;
  return schedule;
}

// Rows wider than the depth copy nothing but padding, tiles wider than there are channels compute
// nothing else.
bool wastes(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  const std::int64_t columns = column_plan(nest, schedule).columns;
  return (tile.columns > 16 && tile.columns >= 2 * columns) ||
         (tile.row_bytes() > 32 && tile.depth >= 2 * roles.depth_points);
}

// Groups in turn with 128 accumulators have no registers left for a box's places and residuals of 4
// bytes (NVRTC 13.0, sm_90a).
bool spills(const Nest &nest, const Schedule &schedule) {
  constexpr std::int64_t kAccumulators = 128;
  const CoreTile tile = core_tile(nest, schedule);
  return has_box(nest, schedule) && schedule.core.turns > 1 &&
         tile.warp_rows * tile.warp_columns >= kAccumulators * kGroupItems &&
         std::any_of(nest.extras.begin(), nest.extras.end(), [&](const nest::Operand &extra) {
           const nest::Slot &slot = nest.slots[at(extra.slot)];
           return size_bytes(slot.type) == 4 && slot.elems >= nest.slots[at(nest.out.slot)].elems;
         });
}

Schedule clustered(Schedule schedule, std::int64_t rows, std::int64_t columns) {
  Core &core = schedule.core;
  core.cluster_rows = rows;
  core.cluster_columns = columns;
  if (core.blocks > 0)
    core.blocks = std::max(core.cluster(), core.blocks / core.cluster() * core.cluster());
  return schedule;
}

const CoreOp *smallest_op(const Nest &nest, bool tf32) { return wgmma_op_for(nest, 64, tf32); }

} // namespace

std::vector<Schedule> wgmma_schedules(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (no_core_roles(nest) || !target.isa.starts_with("sm_90a"))
    return found;
  // The widest rows that the depth fills.
  const auto find_form = [&](const Sizes &sizes, bool is_boxed) {
    const CoreOp *op = wgmma_op_for(nest, sizes.op_columns, tf32);
    for (const std::int64_t row_bytes : kRowBytes) {
      if (op == nullptr)
        break;
      const Form form{tf32 ? kTf32 : kPlain, row_bytes, is_boxed};
      Schedule schedule = wgmma_schedule(nest, *op, form, sizes, target);
      if (illegal(nest, schedule, target) || wastes(nest, schedule) || spills(nest, schedule))
        continue;
      found.push_back(std::move(schedule));
      return true;
    }
    return false;
  };
  for (const Sizes &sizes : kSizes)
    // Boxes where nothing else copies the pixels, or an im2col map is slow at it
    // (cost/wgmma_model).
    if (!find_form(sizes, false) || data_map(nest, found.back()).lower.size() > 2)
      find_form(sizes, true);
  return found;
}

std::optional<Schedule> with_cluster(const Nest &nest, Schedule schedule, const Target &target,
                                     std::int64_t rows, std::int64_t columns) {
  schedule = clustered(std::move(schedule), rows, columns);
  if (illegal(nest, schedule, target))
    return std::nullopt;
  return schedule;
}

bool is_wgmma_algorithm(std::string_view name) {
  return name == kPlain || name == kTf32 || name == kClustered;
}

namespace {

// The largest tile that still gives every multiprocessor a block, or the one with the most tiles.
const Schedule &named_of(const Nest &nest, const std::vector<Schedule> &all, const Target &target) {
  const auto tiles = [&](const Schedule &schedule) { return tile_grid(nest, schedule).tiles(); };
  const auto first = std::find_if(all.begin(), all.end(), [&](const Schedule &schedule) {
    return tiles(schedule) >= target.compute_units;
  });
  return first != all.end()
             ? *first
             : *std::max_element(all.begin(), all.end(), [&](const Schedule &a, const Schedule &b) {
                 return tiles(a) < tiles(b);
               });
}

// Of all that may be, those on clusters of two.
NamedSchedule on_clusters(const Nest &nest, const std::vector<Schedule> &all,
                          const Target &target) {
  std::vector<Schedule> found;
  for (Schedule schedule : all) {
    schedule.name = kClustered;
    for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}})
      if (auto on_cluster = with_cluster(nest, schedule, target, rows, columns)) {
        found.push_back(*std::move(on_cluster));
        break;
      }
  }
  if (!found.empty())
    return {named_of(nest, found, target), {}};
  return {{},
          fmt::format("{} does not fit: {}", kClustered,
                      illegal(nest, clustered(all.front(), 2, 1), target).value_or(""))};
}

} // namespace

NamedSchedule named_wgmma_schedule(std::string_view name, const Nest &nest, const Target &target) {
  if (const std::optional<std::string> reason = no_core_roles(nest))
    return {{}, fmt::format("{} does not fit: {}", name, *reason)};
  const CoreOp *op = smallest_op(nest, name == kTf32);
  if (op == nullptr)
    return {{}, fmt::format("{} does not fit: no instruction multiplies its types", name)};
  const std::vector<Schedule> all = wgmma_schedules(nest, target, name == kTf32);
  if (all.empty()) {
    const Schedule last = wgmma_schedule(nest, *op, {.name = name}, {64, 64, 1, 1}, target);
    return {{},
            fmt::format("{} does not fit: {}", name,
                        illegal(nest, last, target).value_or("every tile is mostly empty"))};
  }
  return name == kClustered ? on_clusters(nest, all, target)
                            : NamedSchedule{named_of(nest, all, target), {}};
}

} // namespace tilefuse::schedule
