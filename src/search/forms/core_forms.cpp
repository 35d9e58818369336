// SPDX-License-Identifier: Apache-2.0
#include "search/forms/core_forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <span>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "program/readers.h"
#include "schedule/blocks.h"
#include "schedule/legal.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_tiles.h"
#include "search/forms/part_forms.h"
#include "search/forms/wgmma_sizes.h"
#include "target/features.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::core_op_for;
using schedule::CoreRoles;
using schedule::Engine;
using schedule::Footprint;
using schedule::Gemm;
using schedule::kGroupRows;
using schedule::kPanelVec;
using schedule::no_core_roles;
using schedule::scalar_schedule;
using schedule::Store;

// A kind of form: its tiles, and how inputs and results travel.
struct Kind {
  std::string_view name;      // "wgmma_" and so on
  std::string_view tf32_name; // the same of f32 rounded to tf32; empty: no such
  std::span<const TileSizes> tiles = kGroupTiles;
  Engine data = Engine::Tma;             // mma's kind: of both inputs, by warps that multiply
  Footprint footprint = Footprint::Step; // of the data; windows: tiles are boxes of pixels
  Footprint filter = Footprint::Step;
  Store store = Store::Direct;
};
constexpr auto kKinds = std::to_array<Kind>({
    {"mma", "mma_tf32", kWarpTiles, Engine::CpAsync},
    {"wgmma", "wgmma_tf32"},
    {.name = "wgmma_store", .tf32_name = "wgmma_tf32_store", .store = Store::Tma},
    {"wgmma_swapped", "wgmma_tf32_swapped", kSwappedTiles},
    {.name = "wgmma_window",
     .tf32_name = "wgmma_tf32_window",
     .tiles = kWindowTiles,
     .footprint = Footprint::Halo,
     .filter = Footprint::Resident},
    {.name = "wgmma_stream",
     .tf32_name = "wgmma_tf32_stream",
     .tiles = kWindowTiles,
     .footprint = Footprint::Halo},
    {.name = "wgmma_gather", .tf32_name = "wgmma_tf32_gather", .data = Engine::CpAsync},
    {.name = "wgmma_step_halo", .tiles = kStepHaloTiles, .filter = Footprint::StepHalo},
});
constexpr const Kind &kOfWarps = kKinds[0], &kPlain = kKinds[1], &kStored = kKinds[2],
                     &kSwapped = kKinds[3], &kWindowed = kKinds[4], &kStreamed = kKinds[5],
                     &kGathered = kKinds[6], &kHaloed = kKinds[7];
constexpr std::span kOfGroups = std::span(kKinds).subspan(1); // kinds of wgmma
constexpr std::string_view kClustered = "wgmma_cluster";
constexpr std::string_view kBlocks = "mma_nchw32";
constexpr std::int64_t kBlockBytes = 32;

constexpr std::array kVecs = {16, 8, 4, 2};
constexpr std::array kNeighbours = {4, 2, 1};
constexpr std::int64_t kMostStored = 16;  // bytes, by a work-item at once
constexpr std::int64_t kNarrow = 64;      // columns
constexpr std::int64_t kFewColumns = 16;  // for whose sake alone no window is read again
constexpr std::int64_t kSwappedDeal = 16; // channels that are dealt in pairs

// As any of its schedules has them.
CoreRoles roles_of(const Nest &nest) {
  static const CoreOp *const op = &*std::find_if(core_ops().begin(), core_ops().end(),
                                                 [](const CoreOp &each) { return is_wgmma(each); });
  Schedule schedule = scalar_schedule(nest);
  schedule.core.op = op;
  return core_roles(nest, schedule);
}

// Neighbouring channels that a work-item stores: 16 bytes at most, as halves of sectors are stored
// slowly.
std::int64_t run_of(const Gemm &gemm, const Kind &kind, const TileSizes &sizes) {
  const Nest &nest = gemm.nest;
  const CoreRoles &roles = gemm.roles;
  const std::int64_t channels = roles.channel_points;
  const std::int64_t bytes = size_bytes(type_of(nest, nest.out));
  const bool is_kept = kind.filter == Footprint::Resident;
  if (sizes.swap_ab)
    return channels % kSwappedDeal == 0 && (!roles.filter_turned || is_kept) ? 2 : 1;
  if (roles.filter_turned) {
    const std::int64_t dealt = 4 * schedule::kDealtWords;
    if (turns_in_ring(gemm, roles.filter))
      return channels % dealt == 0 && gemm.core().op->n % dealt == 0 ? schedule::kDealtWords
                                                                     : kVecs.back();
    const nest::Linear out = nest::flat(nest.out, nest.indices.size());
    const bool stores_halves = bytes == 2 && out.coeff[at(roles.channel)] == 1;
    const bool is_wide = gemm.panel == schedule::kPanelColumns && channels % kPanelVec == 0;
    return stores_halves && is_wide ? kPanelVec : kVecs.back();
  }
  return *std::find_if(kVecs.begin(), kVecs.end() - 1, [&](int v) {
    return v * bytes <= kMostStored && channels % (4 * v) == 0 &&
           sizes.columns / sizes.warp_columns % (4 * v) == 0;
  });
}

// Of boxes of pixels, with so many neighbours in a row of the ring, where there are any.
Schedule wgmma_schedule(const Nest &nest, const CoreOp &op, const Kind &kind,
                        const TileSizes &sizes, std::int64_t neighbours, const Target &target) {
  Schedule schedule = core_form(nest, op, op.tf32 ? kind.tf32_name : kind.name, sizes);
  const CoreRoles roles = core_roles(nest, schedule);
  schedule.pipes[at(roles.data)].engine = kind.data;
  schedule.pipes[at(roles.data)].footprint = kind.footprint;
  schedule.pipes[at(roles.filter)].footprint = kind.filter;
  schedule.splits[at(roles.channel)].vec = run_of(gemm_of(nest, schedule), kind, sizes);
  if (neighbours > 0)
    choose_box(nest, schedule, neighbours);
  if (tile_grid(gemm_of(nest, schedule)).tiles() > target.compute_units)
    schedule.tiles.persistent = target.compute_units;
  fit_stages(nest, schedule, target);
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

// The instruction of a tile, or null.
const CoreOp *op_of(const Nest &nest, const TileSizes &sizes, bool tf32) {
  const std::int64_t columns =
      sizes.swap_ab ? sizes.rows / sizes.warp_rows : sizes.columns / sizes.warp_columns;
  return core_op_for(nest, {.columns = columns, .tf32 = tf32, .swap_ab = sizes.swap_ab});
}

// The columns of a window that serves neighbouring taps of the filter (`step_halo`); 0: none can.
std::int64_t window_columns(const Nest &nest, bool tf32) {
  const TileSizes sizes{64, 64, 1, 1, 1, false, kRowBytes.front()};
  const CoreOp *op = op_of(nest, sizes, tf32);
  const CoreRoles roles = roles_of(nest);
  if (op == nullptr || !roles.data_turned || !roles.filter_turned)
    return 0;
  Schedule schedule = core_form(nest, *op, kHaloed.name, sizes);
  schedule.pipes[at(roles.filter)].footprint = Footprint::StepHalo;
  const Gemm gemm = gemm_of(nest, schedule);
  return gemm.halo.taps == 1 ? 0 : gemm.halo_columns();
}

// The same with results that leave by tensor stores, in whole lines.
std::optional<Schedule> stored(const Nest &nest, const Target &target, Schedule schedule) {
  schedule.store = Store::Tma;
  if (size_bytes(type_of(nest, nest.out)) == 2)
    schedule.splits[at(core_roles(nest, schedule).channel)].vec = kVecs.back();
  fit_stages(nest, schedule, target);
  return pays(nest, schedule, target) ? std::optional(std::move(schedule)) : std::nullopt;
}

// What forms are of.
struct Forms {
  const Nest &nest;
  const Target &target;
  const Kind &kind;
  bool tf32 = false;
};

// The sizes with the widest rows that the depth fills.
std::optional<Schedule> form_of(const Forms &of, TileSizes sizes, std::int64_t neighbours) {
  const CoreOp *op = op_of(of.nest, sizes, of.tf32);
  for (const std::int64_t row_bytes : kRowBytes) {
    if (op == nullptr)
      break;
    sizes.row_bytes = row_bytes;
    Schedule schedule = wgmma_schedule(of.nest, *op, of.kind, sizes, neighbours, of.target);
    if (pays(of.nest, schedule, of.target))
      return of.kind.store == Store::Tma ? stored(of.nest, of.target, std::move(schedule))
                                         : schedule;
  }
  return {};
}

// Boxes of blocks by the neighbours in a row of the ring, which are copied as fast as one: fewer
// where fewer points are none.
void add_blocks(const Forms &of, const TileSizes &sizes, std::vector<Schedule> &found) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t neighbours : kNeighbours) {
    std::optional<Schedule> schedule = form_of(of, sizes, neighbours);
    const std::int64_t rows = schedule ? tile_grid(gemm_of(of.nest, *schedule)).rows : fewest;
    if (rows >= fewest)
      continue;
    fewest = rows;
    found.push_back(*std::move(schedule));
  }
}

// Legal schedules of a kind, larger tiles first. Boxes where nothing else copies the pixels, or an
// im2col map is slow at it (cost/gpu/gemm_model).
std::vector<Schedule> forms_of(const Forms &of) {
  std::vector<Schedule> found;
  const auto add = [&](const TileSizes &sizes, std::int64_t neighbours) {
    std::optional<Schedule> schedule = form_of(of, sizes, neighbours);
    if (schedule)
      found.push_back(*schedule);
    return schedule && data_map(gemm_of(of.nest, *schedule)).lower.size() <= 2;
  };
  const CoreRoles roles = roles_of(of.nest);
  const bool in_blocks = roles.has_blocks() && &of.kind == &kPlain;
  const bool spills = &of.kind == &kStreamed && has(of.target, Quirk::SwappedStreamSpills);
  const bool is_haloed = of.kind.filter == Footprint::StepHalo;
  const std::int64_t window = is_haloed ? window_columns(of.nest, of.tf32) : 0;
  if ((is_haloed && window == 0) || (of.tf32 && of.kind.tf32_name.empty()))
    return found;
  for (TileSizes sizes : of.kind.tiles) {
    if (is_haloed)
      sizes.columns = sizes.warp_columns * window;
    if (of.kind.footprint == Footprint::Halo && sizes.columns <= kFewColumns &&
        roles.channel_points > sizes.columns)
      continue;
    if (in_blocks)
      add_blocks(of, sizes, found);
    else if (of.kind.footprint == Footprint::Step && (add(sizes, 0) || &of.kind == &kGathered))
      continue;
    else if (!spills || !sizes.swap_ab || sizes.turns > 1)
      add(sizes, 1);
  }
  return found;
}

void append(std::vector<Schedule> &found, std::vector<Schedule> more) {
  std::move(more.begin(), more.end(), std::back_inserter(found));
}

bool can_run(const Nest &nest, const Target &target) {
  return !no_core_roles(nest, true) && has(target, Feature::WarpgroupMatrix);
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

// Whether so few tiles of points are there that multiprocessors idle, or so few channels, or points,
// that an instruction is narrow.
// Where both inputs lie turned only words are worth it, of which registers then hold the wide side.
bool suits_swapping(const Nest &nest, const Target &target) {
  const CoreRoles roles = roles_of(nest);
  const DType type = type_of(nest, nest.inputs[at(roles.data)]);
  if (roles.data_turned && turned_operands(type, true) != Turned::Words)
    return false;
  const auto tiles = [](std::int64_t points) { return ceil_div(points, kGroupRows); };
  return std::min(roles.channel_points, roles.points) <= kGroupRows ||
         tiles(roles.points) * tiles(roles.channel_points) <= target.compute_units;
}

// With so many buffers for what can be fetched ahead (schedule/wgmma/wgmma_panels.h), and as many of
// inputs as fit beside; nothing where it cannot.
std::optional<Schedule> with_ahead(const Nest &nest, Schedule schedule, const Target &target,
                                   int buffers, std::int64_t epi_n = 0) {
  schedule.extra = {.engine = Engine::Tma, .stages = buffers, .epi_n = epi_n};
  fit_stages(nest, schedule, target);
  return illegal(nest, schedule, target) ? std::nullopt : std::optional(std::move(schedule));
}

constexpr int kLeastRing = 3; // a shallower one waits for each copy

// Whether several operands are fetched ahead; of results of 4 bytes post-ops have to read each, as
// compilers spill where sums of tiles alone read one.
bool reads_several_ahead(const Gemm &gemm, const Target &target) {
  const std::vector<schedule::AheadOperand> ahead = ahead_operands(gemm);
  const bool is_wide =
      has(target, Quirk::WideAheadSpills) && size_bytes(type_of(gemm.nest, gemm.nest.out)) == 4;
  return ahead.size() > 1 &&
         (!is_wide ||
          std::all_of(ahead.begin(), ahead.end(), [&](const schedule::AheadOperand &operand) {
            return program::reads_operand(gemm.nest.post, operand.extra);
          }));
}

// Several operands of post-ops by epilogue tiles, in large tiles, whose whole ones would leave the
// ring little.
std::vector<Schedule> with_epilogue_tiles(const Nest &nest, const Schedule &schedule,
                                          const Target &target) {
  constexpr std::int64_t kSide = 128;    // of a tile; others were slower
  constexpr std::int64_t kRowBytes = 64; // of an epilogue tile
  std::vector<Schedule> found;
  const Gemm gemm = gemm_of(nest, schedule);
  if (gemm.tile.rows != kSide || gemm.tile.columns != kSide || has_taps(nest)) // not weighed yet
    return found;
  for (const int buffers : {4, 2})
    if (auto ahead = with_ahead(nest, schedule, target, buffers,
                                kRowBytes / size_bytes(type_of(nest, nest.out)));
        ahead && step_stages(*ahead) >= kLeastRing &&
        reads_several_ahead(gemm_of(nest, *ahead), target))
      found.push_back(*std::move(ahead));
  return found;
}

// Appends those of every schedule for which the target's compiler leaves registers, or whole tiles
// `in_turn` of groups in turn alone: these may be faster, as one multiplies meanwhile.
void add_ahead(const Nest &nest, const Target &target, bool in_turn, std::vector<Schedule> &found) {
  const std::size_t count = nest.extras.empty() ? 0 : found.size();
  const bool is_wide =
      has(target, Quirk::WideAheadSpills) && size_bytes(type_of(nest, nest.out)) == 4;
  for (std::size_t i = 0; i < count; ++i) {
    const int instances = found[i].roles.math.instances;
    if (has_loading_warps(found[i]) || // not weighed yet
        (is_wide && found[i].store == schedule::Store::Tma))
      continue;
    std::vector<Schedule> by_tiles = with_epilogue_tiles(nest, found[i], target);
    const bool is_whole = by_tiles.empty();
    append(found, std::move(by_tiles));
    if (in_turn && (instances == 1 || !is_whole))
      continue;
    for (int buffers = 2 * instances; buffers > 0; buffers /= 2)
      if (auto ahead = with_ahead(nest, found[i], target, buffers);
          ahead && (halo_stages(found[i]) > 0 ||
                    step_stages(*ahead) >= // unless a tile has no more steps
                        std::min<std::int64_t>(kLeastRing, core_steps(gemm_of(nest, *ahead)))))
        found.push_back(*std::move(ahead));
  }
}

} // namespace

std::vector<Schedule> core_schedules(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  const CoreOp *op = no_core_roles(nest, false) ? nullptr : core_op_for(nest, {.tf32 = tf32});
  if (op == nullptr)
    return found;
  for (TileSizes sizes : kOfWarps.tiles)
    for (const std::int64_t row_bytes : kRowBytes)
      for (const int stages : kWarpStages) {
        sizes.row_bytes = row_bytes;
        sizes.stages = stages;
        Schedule schedule = core_form(nest, *op, tf32 ? kOfWarps.tf32_name : kOfWarps.name, sizes);
        if (pays(nest, schedule, target))
          found.push_back(std::move(schedule));
      }
  return found;
}

std::vector<Schedule> every_wgmma_schedule(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (!can_run(nest, target))
    return found;
  for (const Kind &kind : kOfGroups)
    append(found, forms_of({nest, target, kind, tf32}));
  add_ahead(nest, target, false, found);
  return found;
}

std::vector<Schedule> wgmma_schedules(const Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> found;
  if (!can_run(nest, target))
    return found;
  const auto add = [&](const Kind &kind) { append(found, forms_of({nest, target, kind, tf32})); };
  add(kPlain);
  if (std::any_of(found.begin(), found.end(),
                  [&](const Schedule &plain) { return exchanges(gemm_of(nest, plain)); })) {
    add(kStored);
    std::erase_if(found, [&](const Schedule &each) {
      return each.store == Store::Tma && !suits_storing(nest, each);
    });
  }
  if (suits_swapping(nest, target))
    add(kSwapped);
  if (has_taps(nest))
    add(kWindowed);
  add(kHaloed);
  if (found.empty() || core_roles(nest, found.front()).has_blocks())
    add(kGathered);
  add_ahead(nest, target, true, found);
  return found;
}

std::vector<Schedule> streamed_wgmma_schedules(const Nest &nest, const Target &target, bool tf32) {
  return can_run(nest, target) && has_taps(nest) ? forms_of({nest, target, kStreamed, tf32})
                                                 : std::vector<Schedule>{};
}

std::optional<Schedule> with_cluster(const Nest &nest, Schedule schedule, const Target &target,
                                     std::int64_t rows, std::int64_t columns) {
  return with_runs(nest, clustered(std::move(schedule), rows, columns), target);
}

std::vector<std::string> core_algorithms() {
  std::vector<std::string> names = {std::string(kOfWarps.name), std::string(kOfWarps.tf32_name),
                                    std::string(kBlocks)};
  for (const auto name : {&Kind::name, &Kind::tf32_name})
    for (const Kind &kind : kOfGroups)
      if (!(kind.*name).empty())
        names.emplace_back(kind.*name);
  names.emplace_back(kClustered);
  names.emplace_back(kPartsName);
  return names;
}

namespace {

// The largest tile that still gives every multiprocessor a block, or the one with the most tiles.
const Schedule &named_of(const Nest &nest, const std::vector<Schedule> &all, const Target &target) {
  return filling(all, target, [&](const Schedule &each) {
    return is_wgmma(*each.core.op) ? tile_grid(gemm_of(nest, each)).tiles() : blocks(nest, each);
  });
}

// The schedules of the source: 128 or 64 channels by 128 pixels, steps of two blocks, two of them
// in flight.
NamedSchedule blocks_schedule(const Nest &nest, const CoreOp &op, const Target &target) {
  const CoreRoles roles = core_roles(nest, scalar_schedule(nest));
  const std::int64_t block = nest::extent(nest, roles.depth());
  if (!roles.has_blocks() || block * size_bytes(op.a.type) != kBlockBytes)
    return misfit(kBlocks,
                  fmt::format("its channels do not lie in blocks of {} bytes", kBlockBytes));
  NamedSchedule found;
  for (const TileSizes &sizes :
       {TileSizes{128, 128, 2, 2}, TileSizes{128, 64, 2, 2}, TileSizes{64, 32, 2, 1}}) {
    Schedule schedule = core_form(nest, op, kBlocks, sizes);
    if (pays(nest, schedule, target))
      return {std::move(schedule), {}};
    found = misfit(kBlocks, nest, schedule, target);
  }
  return found;
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

NamedSchedule named_core_schedule(std::string_view name, const Nest &nest, const Target &target) {
  const auto *named = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind &each) {
    return name == each.name || name == each.tf32_name;
  });
  // Those without a kind are of plain ones: blocks of channels, clusters and parts.
  const Kind &kind = named != kKinds.end() ? *named : name == kBlocks ? kOfWarps : kPlain;
  const bool tf32 = name == kind.tf32_name;
  const bool is_of_warps = &kind == &kOfWarps;
  if (const std::optional<std::string> reason = no_core_roles(nest, !is_of_warps))
    return misfit(name, *reason);
  TileSizes last = {64, 64, 1, 1, 1, &kind == &kSwapped, kRowBytes.front()};
  const CoreOp *op = is_of_warps ? core_op_for(nest, {.tf32 = tf32}) : op_of(nest, last, tf32);
  if (op == nullptr)
    return misfit(name, "no instruction multiplies its types");
  if (name == kBlocks)
    return blocks_schedule(nest, *op, target);
  const std::vector<Schedule> all =
      is_of_warps ? core_schedules(nest, target, tf32) : forms_of({nest, target, kind, tf32});
  if (all.empty() && is_of_warps) {
    last = kWarpTiles.back();
    last.row_bytes = kRowBytes.back();
    return misfit(name, nest, core_form(nest, *op, name, last), target);
  }
  if (all.empty()) {
    const bool is_boxed = kind.footprint == Footprint::Halo;
    Schedule none = wgmma_schedule(nest, *op, kind, last, is_boxed ? 1 : 0, target);
    none.store = kind.store;
    return misfit(name, nest, none, target);
  }
  if (name == kPartsName)
    return named_in_parts(nest, all, wgmma_schedules(nest, target, false), target);
  return name == kClustered ? on_clusters(nest, all, target)
                            : NamedSchedule{named_of(nest, all, target), {}};
}

} // namespace tilefuse::search
