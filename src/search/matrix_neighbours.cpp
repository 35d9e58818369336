// SPDX-License-Identifier: Apache-2.0
#include "search/matrix_neighbours.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/roles.h"
#include "search/forms/wgmma_sizes.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Core;
using schedule::core_op_for;
using schedule::CoreRoles;
using schedule::Engine;
using schedule::Footprint;
using schedule::Pipe;
using schedule::Schedule;
using schedule::Store;

constexpr int kTries = 60;
constexpr std::int64_t kMostStages = 10;
constexpr std::int64_t kMostWindows = 4;
constexpr std::int64_t kMostExtra = 4; // buffers of what post-ops read

// A schedule that is changed, and what its axes ask of it.
struct Change {
  const Nest &nest;
  const Target &target;
  Schedule &schedule;
  Random &random;
  const CoreRoles roles = core_roles(nest, schedule);

  bool is_of_groups() const { return is_wgmma(*schedule.core.op); }
  Pipe &data() { return schedule.pipes[at(roles.data)]; }
  Pipe &filter() { return schedule.pipes[at(roles.filter)]; }
  schedule::Split &channel() { return schedule.splits[roles.channel]; }
};

// An instruction of the same types with as many columns, or another tile of columns.
void change_instruction(Change &of) {
  Core &core = of.schedule.core;
  if (!of.is_of_groups()) {
    of.channel().tile = core.warp_columns * of.random.of<std::int64_t>({16, 32, 48, 64});
    if (!of.roles.filter_turned)
      of.channel().vec = of.channel().tile / core.warp_columns / 8;
    return;
  }
  std::vector<const CoreOp *> alike;
  for (const CoreOp &op : core_ops())
    if (is_wgmma(op) && op.a.type == core.op->a.type && op.b.type == core.op->b.type &&
        op.d.type == core.op->d.type && op.tf32 == core.op->tf32)
      alike.push_back(&op);
  core.op = of.random.of(alike);
  (core.swap_ab ? core.rows : of.channel().tile) =
      core.op->n * (core.swap_ab ? core.warp_rows : core.warp_columns);
}

void change_rows(Change &of) {
  Core &core = of.schedule.core;
  const bool is_of_groups = of.is_of_groups();
  if (core.swap_ab)
    of.channel().tile = 64 * core.warp_columns * of.random.between(1, 2);
  else
    core.rows =
        (is_of_groups ? 64 : 16) * core.warp_rows * of.random.between(1, is_of_groups ? 3 : 4);
}

// As many rows and columns by other warps.
void change_warps(Change &of) {
  Core &core = of.schedule.core;
  const bool is_of_groups = of.is_of_groups();
  core.warp_rows = of.random.between(1, is_of_groups ? 3 : 4);
  core.warp_columns = of.random.between(1, is_of_groups ? 2 : 4);
  if (is_of_groups && !core.swap_ab)
    of.channel().tile = core.op->n * core.warp_columns;
  else if (is_of_groups)
    core.rows = core.op->n * core.warp_rows;
}

void change_depth(Change &of) {
  of.schedule.splits[of.roles.depth()].tile =
      of.random.of<std::int64_t>({32, 64, 128}) / size_bytes(of.schedule.core.op->a.type);
}

void change_run(Change &of) { of.channel().vec = of.random.of<std::int64_t>({1, 2, 4, 8, 16}); }

void change_stages(Change &of) {
  if (of.data().footprint == Footprint::Halo && of.random.chance(50))
    of.data().stages = static_cast<int>(of.random.between(1, kMostWindows));
  else
    set_step_stages(of.schedule, static_cast<int>(of.random.between(2, kMostStages)));
}

void change_raster(Change &of) {
  using schedule::Raster;
  Raster &raster = of.schedule.tiles.raster;
  raster = raster == Raster::Rows ? Raster::Columns : Raster::Rows;
}

void change_engine(Change &of) {
  of.data().engine = of.data().engine == Engine::Tma ? Engine::CpAsync : Engine::Tma;
}

// Of both turned: taps by themselves, or as many as an instruction multiplies in one window.
void change_step_halo(Change &of) {
  Footprint &filter = of.filter().footprint;
  filter = filter == Footprint::Step ? Footprint::StepHalo : Footprint::Step;
  const schedule::Gemm gemm = gemm_of(of.nest, of.schedule);
  const CoreOp *op = core_op_for(of.nest, {.columns = gemm.halo_columns()});
  if (filter == Footprint::Step || op == nullptr)
    return;
  of.schedule.core.op = op;
  of.schedule.core.rows = 64 * of.schedule.core.warp_rows;
  of.channel().tile = op->n * of.schedule.core.warp_columns;
  fit_stages(of.nest, of.schedule, of.target);
}

// Windows beside a filter that streams or stays, or neither.
void change_footprints(Change &of) {
  if (of.roles.data_turned && of.roles.filter_turned) {
    change_step_halo(of);
    return;
  }
  if (of.data().footprint == Footprint::Halo) {
    of.data().footprint = of.filter().footprint = Footprint::Step;
    of.data().stages = of.filter().stages;
    for (const nest::IndexId i : of.roles.pixels)
      of.schedule.splits[i].tile = 1;
    return;
  }
  of.data().footprint = Footprint::Halo;
  choose_box(of.nest, of.schedule, 1);
  if (of.random.chance(50))
    of.filter().footprint = Footprint::Resident;
  fit_stages(of.nest, of.schedule, of.target);
}

// Through more buffers the less each holds.
void change_extra(Change &of) {
  const auto stages = static_cast<int>(of.random.between(0, kMostExtra));
  of.schedule.extra = {.engine = stages == 0 ? Engine::Items : Engine::Tma, .stages = stages};
  if (stages > 0)
    of.schedule.extra.epi_n = of.random.of<std::int64_t>({0, 0, 16, 32, 64});
}

void change_store(Change &of) {
  of.schedule.store = of.schedule.store == Store::Tma ? Store::Direct : Store::Tma;
}

// Ping-pong, or all warps on one tile.
void change_instances(Change &of) {
  int &instances = of.schedule.roles.math.instances;
  instances = 3 - instances;
  if (of.schedule.extra.stages > 1 && of.schedule.extra.epi_n == 0)
    of.schedule.extra.stages = instances;
}

void change_cluster(Change &of) {
  const auto [m, n] = of.random.of({std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}});
  of.schedule.tiles.cluster_m = m;
  of.schedule.tiles.cluster_n = n;
  of.schedule.tiles.split_k = 1;
}

void change_split(Change &of) {
  of.schedule.tiles.split_k = of.random.of<std::int64_t>({1, 2, 4, 8});
  of.schedule.tiles.cluster_m = of.schedule.tiles.cluster_n = 1;
}

// A block for each tile, or one for each multiprocessor.
void change_persistence(Change &of) {
  schedule::TileOrder &tiles = of.schedule.tiles;
  const std::int64_t clusters =
      std::max<std::int64_t>(1, of.target.compute_units / tiles.cluster());
  tiles.persistent = tiles.persistent == 0 ? clusters * tiles.cluster() : 0;
}

void change_instruction_order(Change &of) { of.schedule.core.k_inner = !of.schedule.core.k_inner; }

// Points in the instruction's columns, or in its rows again, by the instruction that has the types
// of both sides so.
void change_swap(Change &of) {
  Core &core = of.schedule.core;
  const CoreOp *op = core_op_for(of.nest, {core.op->n, core.op->tf32, !core.swap_ab});
  if (op == nullptr)
    return;
  core.op = op;
  core.swap_ab = !core.swap_ab;
  core.rows = (core.swap_ab ? core.op->n : 64) * core.warp_rows;
  of.channel().tile = (core.swap_ab ? 64 : core.op->n) * core.warp_columns;
  of.channel().vec = 2;
}

// Some registers go from those that multiply to those that load, or back.
void change_registers(Change &of) {
  schedule::WarpRoles &roles = of.schedule.roles;
  const Core &core = of.schedule.core;
  const auto math = static_cast<int>(core.warp_rows * core.warp_columns) * roles.math.instances;
  const int by = of.random.of({-8, 8});
  if (roles.math.registers == 0)
    return;
  roles.math.registers -= by;
  roles.load.registers += by * math;
}

// The axes that a step may move along.
struct Axis {
  void (*change)(Change &of);
  bool of_groups = true; // wgmma alone has it
};
constexpr auto kAxes = std::to_array<Axis>({
    {change_instruction, false},
    {change_rows, false},
    {change_warps, false},
    {change_depth, false},
    {change_run, false},
    {change_stages, false},
    {change_engine},
    {change_footprints},
    {change_extra},
    {change_store},
    {change_instances},
    {change_cluster},
    {change_split},
    {change_persistence},
    {change_raster, false},
    {change_instruction_order},
    {change_swap},
});

void change_one(Change &of) {
  const Axis &axis = kAxes[at(static_cast<int>(of.random.between(0, kAxes.size() - 1)))];
  if (!axis.of_groups || of.is_of_groups())
    axis.change(of);
}

// What follows from the others where search picks it, or another choice.
void settle_roles(Change &of) {
  if (!of.is_of_groups())
    return;
  schedule::TileOrder &tiles = of.schedule.tiles;
  schedule::WarpRoles &roles = of.schedule.roles;
  const schedule::Raster raster = tiles.raster;
  const bool k_inner = of.schedule.core.k_inner;
  tiles.persistent = round_up(tiles.persistent, tiles.cluster());
  assign_roles(of.nest, of.schedule, of.target);
  tiles.raster = raster;
  of.schedule.core.k_inner = k_inner;
  if (of.random.chance(20))
    roles.load.early = !roles.load.early && can_copy_early(gemm_of(of.nest, of.schedule));
  if (of.random.chance(20))
    roles.load.lead =
        static_cast<int>(of.random.between(0, most_lead(gemm_of(of.nest, of.schedule))));
  if (of.random.chance(20))
    roles.math.tests_rows = !roles.math.tests_rows;
  if (of.random.chance(20))
    change_registers(of);
}

} // namespace

std::optional<Schedule> matrix_neighbour(const Nest &nest, const Target &target, const Schedule &of,
                                         Random &random) {
  for (int i = 0; i < kTries; ++i) {
    Schedule schedule = of;
    Change change{nest, target, schedule, random};
    for (std::int64_t left = random.between(1, 3); left > 0; --left)
      change_one(change);
    settle_roles(change);
    if (schedule != of && !illegal(nest, schedule, target))
      return schedule;
  }
  return std::nullopt;
}

} // namespace tilefuse::search
