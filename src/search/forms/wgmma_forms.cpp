// SPDX-License-Identifier: Apache-2.0
#include "search/forms/wgmma_forms.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/legal.h"
#include "schedule/local_memory.h"
#include "schedule/wgmma/wgmma_ahead.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_parts.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/part_forms.h"
#include "search/forms/roles.h"
#include "search/forms/wgmma_menu.h"
#include "search/forms/wgmma_sizes.h"
#include "target/features.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::CoreRoles;
using schedule::Engine;
using schedule::Fill;
using schedule::Gemm;
using schedule::kGroupRows;
using schedule::kPanelVec;
using schedule::no_core_roles;
using schedule::Pipe;
using schedule::scalar_schedule;
using schedule::Schedule;
using schedule::Split;
using schedule::wgmma_op_for;

// By kind of form; beside them the same of f32 rounded to tf32.
enum Kind { kPlain, kStored, kSwapped, kWindowed, kStreamed, kGathered };
constexpr std::size_t kKinds = 6;
constexpr auto kNames = std::to_array<std::string_view>(
    {"wgmma", "wgmma_store", "wgmma_swapped", "wgmma_window", "wgmma_stream", "wgmma_gather",
     "wgmma_tf32", "wgmma_tf32_store", "wgmma_tf32_swapped", "wgmma_tf32_window",
     "wgmma_tf32_stream", "wgmma_tf32_gather"});
static_assert(kNames.size() == 2 * kKinds);
constexpr std::string_view kClustered = "wgmma_cluster";

// Whether tiles are boxes that all taps read from a window; beside a filter that is not kept where
// it streams.
bool has_windows(Kind kind) { return kind == kWindowed || kind == kStreamed; }

// What besides its sizes tells a form from another.
struct Form {
  std::string_view name;
  Kind kind = kPlain;
  bool is_boxed = false; // pixels of a tile are a box
  bool is_swapped = false;
  std::int64_t row_bytes = 128; // of a step's depth
  std::int64_t neighbours = 1;  // pixels of a row of the ring, of blocks
};

constexpr std::array kRowBytes = {128, 64, 32};
constexpr std::array kVecs = {16, 8, 4, 2};
constexpr std::array kNeighbours = {4, 2, 1};
constexpr std::int64_t kMostStored = 16;  // bytes, by a work-item at once
constexpr std::int64_t kNarrow = 64;      // columns
constexpr int kFirstStages = 2;           // until sizes are known
constexpr std::int64_t kSwappedDeal = 16; // channels that are dealt in pairs

// As any of its schedules has them.
CoreRoles roles_of(const Nest &nest) {
  static const CoreOp *const op = &*std::find_if(core_ops().begin(), core_ops().end(),
                                                 [](const CoreOp &each) { return is_wgmma(each); });
  Schedule schedule = scalar_schedule(nest);
  schedule.core.op = op;
  return core_roles(nest, schedule);
}

Schedule wgmma_schedule(const Nest &nest, const CoreOp &op, const Form &form,
                        const TileSizes &sizes, const Target &target) {
  Schedule schedule = scalar_schedule(nest);
  schedule.name = form.name;
  schedule.lanes = LaneKind::WorkItem;
  schedule.core = {.op = &op,
                   .rows = sizes.rows,
                   .warp_rows = sizes.group_rows,
                   .warp_columns = sizes.group_columns,
                   .swap_ab = form.is_swapped};
  schedule.roles.math.instances = sizes.turns;
  order_core(nest, schedule);
  const CoreRoles roles = core_roles(nest, schedule);
  for (Pipe &pipe : schedule.pipes)
    pipe = {.engine = Engine::Tma, .stages = kFirstStages};
  if (form.kind == kGathered)
    schedule.pipes[at(roles.data)].engine = Engine::CpAsync;
  Split &channel = schedule.splits[at(roles.channel)];
  channel.tile = sizes.op_columns * sizes.group_columns;
  const std::int64_t channels = roles.channel_points;
  // 16 bytes at most: halves of sectors are stored slowly.
  const std::int64_t result_bytes = size_bytes(type_of(nest, nest.out));
  const auto *vec = std::find_if(kVecs.begin(), kVecs.end() - 1, [&](int v) {
    return v * result_bytes <= kMostStored && channels % (4 * v) == 0 &&
           sizes.op_columns % (4 * v) == 0;
  });
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  const bool stores_halves = result_bytes == 2 && out.coeff[at(roles.channel)] == 1;
  const bool is_kept = form.kind == kWindowed;
  const bool is_dealt = channels % kSwappedDeal == 0 && (!roles.filter_turned || is_kept);
  channel.vec = form.is_swapped                              ? (is_dealt ? 2 : 1)
                : !roles.filter_turned                       ? *vec
                : stores_halves && channels % kPanelVec == 0 ? static_cast<int>(kPanelVec)
                                                             : kVecs.back();
  schedule.splits[at(roles.depth())].tile = form.row_bytes / size_bytes(op.a.type);
  if (roles.has_blocks()) {
    const auto found =
        std::find(schedule.order.begin(), schedule.order.end(), nest::IndexId{roles.depths[0]});
    std::rotate(found, found + 1, schedule.order.end() - 1);
  }
  if (form.is_boxed)
    choose_box(nest, schedule, has_windows(form.kind), form.neighbours);
  if (nest.inputs[at(roles.filter)].constant && !roles.filter_turned)
    schedule.fills[at(roles.filter)] = Fill::Packed;
  if (has_windows(form.kind))
    fit_windows(nest, schedule, target, is_kept);
  else
    set_step_stages(schedule, ring_for(nest, schedule, target));
  if (tile_grid(gemm_of(nest, schedule)).tiles() > target.compute_units)
    schedule.tiles.persistent = target.compute_units;
  assign_roles(nest, schedule, target);
  return schedule;
}

Schedule clustered(Schedule schedule, std::int64_t rows, std::int64_t columns) {
  schedule.tiles.cluster_m = rows;
  schedule.tiles.cluster_n = columns;
  if (schedule.tiles.persistent > 0)
    schedule.tiles.persistent =
        std::max(schedule.tiles.cluster(),
                 schedule.tiles.persistent / schedule.tiles.cluster() * schedule.tiles.cluster());
  return schedule;
}

// The sizes with the widest rows that the depth fills.
std::optional<Schedule> form_of(const Nest &nest, const Target &target, const TileSizes &sizes,
                                Form form, bool tf32) {
  const CoreOp *op = wgmma_op_for(
      nest, {.columns = form.is_swapped ? sizes.rows / sizes.group_rows : sizes.op_columns,
             .tf32 = tf32,
             .swap_ab = form.is_swapped});
  for (const std::int64_t row_bytes : kRowBytes) {
    if (op == nullptr)
      break;
    form.row_bytes = row_bytes;
    Schedule schedule = wgmma_schedule(nest, *op, form, sizes, target);
    if (illegal(nest, schedule, target))
      continue;
    const Gemm gemm = gemm_of(nest, schedule);
    if (!wastes(gemm) && !spills(gemm, target))
      return schedule;
  }
  return {};
}

// The same with results that leave by tensor stores.
std::optional<Schedule> stored(const Nest &nest, const Target &target, Schedule schedule,
                               std::string_view name) {
  schedule.name = name;
  schedule.store = schedule::Store::Tma;
  if (size_bytes(type_of(nest, nest.out)) == 2)
    schedule.splits[at(core_roles(nest, schedule).channel)].vec = kVecs.back(); // whole lines
  set_step_stages(schedule, ring_for(nest, schedule, target));
  assign_roles(nest, schedule, target);
  const bool fits = !illegal(nest, schedule, target) && !spills(gemm_of(nest, schedule), target);
  return fits ? std::optional(std::move(schedule)) : std::nullopt;
}

// Boxes of blocks by the neighbours in a row of the ring, which are copied as fast as one: fewer
// where fewer points are none.
void add_blocks(const Nest &nest, const Target &target, const TileSizes &sizes, Form form,
                bool tf32, std::vector<Schedule> &found) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t neighbours : kNeighbours) {
    form.neighbours = neighbours;
    std::optional<Schedule> schedule = form_of(nest, target, sizes, form, tf32);
    const std::int64_t rows = schedule ? tile_grid(gemm_of(nest, *schedule)).rows : fewest;
    if (rows >= fewest)
      continue;
    fewest = rows;
    found.push_back(*std::move(schedule));
  }
}

// Legal schedules of a kind, larger tiles first.
std::vector<Schedule> forms_of(const Nest &nest, const Target &target, Kind kind, bool tf32) {
  std::vector<Schedule> found;
  const std::string_view name = kNames[static_cast<std::size_t>(kind) + (tf32 ? kKinds : 0)];
  const bool in_blocks = roles_of(nest).has_blocks();
  const auto add = [&](const TileSizes &sizes, bool is_boxed, bool is_swapped) {
    std::optional<Schedule> schedule =
        form_of(nest, target, sizes, {name, kind, is_boxed, is_swapped}, tf32);
    if (schedule && kind == kStored)
      schedule = stored(nest, target, std::move(*schedule), name);
    if (schedule)
      found.push_back(std::move(*schedule));
    return schedule.has_value();
  };
  if (has_windows(kind)) {
    for (const TileSizes &sizes : kWindowSizes)
      add(sizes, true, false);
    for (const TileSizes &sizes : kSwappedWindowSizes)
      if (kind != kStreamed || sizes.turns > 1 || !has(target, Quirk::SwappedStreamSpills))
        add(sizes, true, true);
    return found;
  }
  const bool is_swapped = kind == kSwapped;
  const std::span<const TileSizes> all =
      is_swapped ? std::span<const TileSizes>(kSwappedSizes) : std::span<const TileSizes>(kSizes);
  for (const TileSizes &sizes : all) {
    if (in_blocks && kind == kPlain) {
      add_blocks(nest, target, sizes, {name, kind, true, false}, tf32, found);
      continue;
    }
    // Boxes where nothing else copies the pixels, or an im2col map is slow at it
    // (cost/wgmma_model).
    if ((!add(sizes, false, is_swapped) ||
         data_map(gemm_of(nest, found.back())).lower.size() > 2) &&
        kind != kGathered)
      add(sizes, true, is_swapped);
  }
  return found;
}

// Tiles that take about as long as their results, for whose boxes a ring gives up a buffer, or wide
// ones.
bool suits_storing(const Nest &nest, const Schedule &stored) {
  const Gemm gemm = gemm_of(nest, stored);
  return gemm.tile.columns > kNarrow || core_steps(gemm) <= kShortTile;
}

// Whether several taps read a tile's data.
bool has_taps(const Nest &nest) {
  const std::vector<nest::IndexId> walked = roles_of(nest).walked;
  return std::any_of(walked.begin(), walked.end(),
                     [&](nest::IndexId i) { return nest::extent(nest, i) > 1; });
}

// Whether so few tiles of points are there that multiprocessors idle, or so few channels that an
// instruction is narrow.
bool suits_swapping(const Nest &nest, const Target &target) {
  const CoreRoles roles = roles_of(nest);
  const auto tiles = [](std::int64_t points) { return (points + kGroupRows - 1) / kGroupRows; };
  return roles.channel_points <= kGroupRows ||
         tiles(roles.points) * tiles(roles.channel_points) <= target.compute_units;
}

// With so many buffers for what can be fetched ahead (schedule/wgmma/wgmma_ahead.h), and as many of
// inputs as fit beside; nothing where it cannot.
std::optional<Schedule> with_ahead(const Nest &nest, Schedule schedule, const Target &target,
                                   int buffers) {
  schedule.extra = {.engine = Engine::Tma, .stages = buffers};
  if (halo_stages(schedule) > 0)
    fit_windows(nest, schedule, target, has_resident(schedule));
  else
    set_step_stages(schedule, ring_for(nest, schedule, target));
  assign_roles(nest, schedule, target);
  return illegal(nest, schedule, target) ? std::nullopt : std::optional(std::move(schedule));
}

// Appends those of every schedule for which the target's compiler leaves registers.
void add_ahead(const Nest &nest, const Target &target, std::vector<Schedule> &found) {
  constexpr int kLeastRing = 3; // a shallower one waits for each copy
  const std::size_t count = nest.extras.empty() ? 0 : found.size();
  const bool is_wide =
      has(target, Quirk::WideAheadSpills) && size_bytes(type_of(nest, nest.out)) == 4;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_loading_warps(found[i])) // not weighed yet
      continue;
    for (int buffers = found[i].roles.math.instances;
         buffers > 0 && !(is_wide && found[i].store == schedule::Store::Tma); --buffers)
      if (auto ahead = with_ahead(nest, found[i], target, buffers);
          ahead && (halo_stages(found[i]) > 0 || step_stages(*ahead) >= kLeastRing))
        found.push_back(*std::move(ahead));
  }
}

// Of those the ones that may be faster: of groups in turn, one of which multiplies meanwhile.
void add_gaining_ahead(const Nest &nest, const Target &target, std::vector<Schedule> &found) {
  const std::size_t count = found.size();
  add_ahead(nest, target, found);
  found.erase(std::remove_if(found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                             [](const Schedule &each) { return each.roles.math.instances == 1; }),
              found.end());
}

} // namespace

std::vector<Schedule> every_wgmma_schedule(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (no_core_roles(nest) || !has(target, Feature::WarpgroupMatrix))
    return found;
  for (const Kind kind : {kPlain, kStored, kSwapped, kWindowed, kStreamed, kGathered})
    for (Schedule &schedule : forms_of(nest, target, kind, tf32))
      found.push_back(std::move(schedule));
  add_ahead(nest, target, found);
  return found;
}

std::vector<Schedule> wgmma_schedules(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (no_core_roles(nest) || !has(target, Feature::WarpgroupMatrix))
    return found;
  const auto add = [&](Kind kind) {
    for (Schedule &schedule : forms_of(nest, target, kind, tf32))
      found.push_back(std::move(schedule));
  };
  add(kPlain);
  if (std::any_of(found.begin(), found.end(),
                  [&](const Schedule &plain) { return exchanges(gemm_of(nest, plain)); }))
    for (Schedule &schedule : forms_of(nest, target, kStored, tf32))
      if (suits_storing(nest, schedule))
        found.push_back(std::move(schedule));
  if (suits_swapping(nest, target))
    add(kSwapped);
  if (has_taps(nest))
    add(kWindowed);
  if (found.empty() || core_roles(nest, found.front()).has_blocks())
    add(kGathered);
  add_gaining_ahead(nest, target, found);
  return found;
}

std::vector<Schedule> streamed_wgmma_schedules(const Nest &nest, const Target &target, bool tf32) {
  const bool suits =
      !no_core_roles(nest) && has(target, Feature::WarpgroupMatrix) && has_taps(nest);
  return suits ? forms_of(nest, target, kStreamed, tf32) : std::vector<Schedule>{};
}

std::optional<Schedule> with_cluster(const Nest &nest, Schedule schedule, const Target &target,
                                     std::int64_t rows, std::int64_t columns) {
  return with_runs(nest, clustered(std::move(schedule), rows, columns), target);
}

std::vector<std::string> wgmma_algorithms() {
  std::vector<std::string> names(kNames.begin(), kNames.end());
  names.emplace_back(kClustered);
  names.emplace_back(kPartsName);
  return names;
}

bool is_wgmma_algorithm(std::string_view name) {
  return name == kClustered || name == kPartsName ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

namespace {

// The largest tile that still gives every multiprocessor a block, or the one with the most tiles.
const Schedule &named_of(const Nest &nest, const std::vector<Schedule> &all, const Target &target) {
  return filling(all, target,
                 [&](const Schedule &each) { return tile_grid(gemm_of(nest, each)).tiles(); });
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
  return misfit(kClustered, illegal(nest, clustered(all.front(), 2, 1), target).value_or(""));
}

} // namespace

NamedSchedule named_wgmma_schedule(std::string_view name, const Nest &nest, const Target &target) {
  if (const std::optional<std::string> reason = no_core_roles(nest))
    return misfit(name, *reason);
  const bool is_on_cluster = name == kClustered || name == kPartsName;
  const auto number = static_cast<std::size_t>(
      std::find(kNames.begin(), kNames.end(), is_on_cluster ? kNames[kPlain] : name) -
      kNames.begin());
  const auto kind = static_cast<Kind>(number % kKinds);
  const bool tf32 = number >= kKinds;
  const CoreOp *op =
      wgmma_op_for(nest, {.columns = kGroupRows, .tf32 = tf32, .swap_ab = kind == kSwapped});
  if (op == nullptr)
    return misfit(name, "no instruction multiplies its types");
  const std::vector<Schedule> all = forms_of(nest, target, kind, tf32);
  if (all.empty()) {
    Schedule last = wgmma_schedule(nest, *op, {name, kind, has_windows(kind), kind == kSwapped},
                                   {64, 64, 1, 1}, target);
    last.store = kind == kStored ? schedule::Store::Tma : schedule::Store::Direct;
    return misfit(name, illegal(nest, last, target).value_or("every tile is mostly empty"));
  }
  if (name == kPartsName)
    return named_in_parts(nest, all, wgmma_schedules(nest, target, false), target);
  return name == kClustered ? on_clusters(nest, all, target)
                            : NamedSchedule{named_of(nest, all, target), {}};
}

} // namespace tilefuse::search
