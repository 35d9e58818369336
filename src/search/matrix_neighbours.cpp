// SPDX-License-Identifier: Apache-2.0
#include "search/matrix_neighbours.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

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
using schedule::CoreRoles;
using schedule::Engine;
using schedule::Footprint;
using schedule::Pipe;
using schedule::Schedule;
using schedule::Store;
using schedule::wgmma_op_for;

constexpr int kTries = 60;
constexpr std::int64_t kMostStages = 10;
constexpr std::int64_t kMostWindows = 4;

class MatrixChange {
public:
  MatrixChange(const Nest &nest, const Target &target, Schedule &schedule, Random &random)
      : nest_(nest), target_(target), schedule_(schedule), random_(random),
        roles_(core_roles(nest, schedule)) {}

  void one();
  // What follows from the others where search picks it, or another choice.
  void settle_roles();

private:
  using Step = void (MatrixChange::*)();

  bool is_wgmma() const { return tilefuse::is_wgmma(*schedule_.core.op); }
  Pipe &data() { return schedule_.pipes[at(roles_.data)]; }
  Pipe &filter() { return schedule_.pipes[at(roles_.filter)]; }
  schedule::Split &channel() { return schedule_.splits[roles_.channel]; }

  void change_instruction();
  void change_rows();
  void change_warps();
  void change_depth();
  void change_run();
  void change_stages();
  void change_engine();
  void change_footprints();
  void change_extra();
  void change_store();
  void change_instances();
  void change_cluster();
  void change_split();
  void change_persistence();
  void change_raster();
  void change_instruction_order();
  void change_swap();
  void change_registers();

  const Nest &nest_;
  const Target &target_;
  Schedule &schedule_;
  Random &random_;
  const CoreRoles roles_;
};

// An instruction of the same types with as many columns, or another tile of columns.
void MatrixChange::change_instruction() {
  Core &core = schedule_.core;
  if (!is_wgmma()) {
    channel().tile = core.warp_columns * random_.of<std::int64_t>({16, 32, 48, 64});
    channel().vec = roles_.filter_turned ? channel().vec : channel().tile / core.warp_columns / 8;
    return;
  }
  std::vector<const CoreOp *> alike;
  for (const CoreOp &op : core_ops())
    if (tilefuse::is_wgmma(op) && op.a.type == core.op->a.type && op.b.type == core.op->b.type &&
        op.d.type == core.op->d.type && op.tf32 == core.op->tf32)
      alike.push_back(&op);
  core.op = random_.of(alike);
  if (core.swap_ab)
    core.rows = core.op->n * core.warp_rows;
  else
    channel().tile = core.op->n * core.warp_columns;
}

void MatrixChange::change_rows() {
  Core &core = schedule_.core;
  const std::int64_t unit = is_wgmma() ? 64 : 16;
  if (core.swap_ab)
    channel().tile = 64 * core.warp_columns * random_.between(1, 2);
  else
    core.rows = unit * core.warp_rows * random_.between(1, is_wgmma() ? 3 : 4);
}

// As many rows and columns by other warps.
void MatrixChange::change_warps() {
  Core &core = schedule_.core;
  const std::int64_t most = is_wgmma() ? 2 : 4;
  core.warp_rows = random_.between(1, most + (is_wgmma() ? 1 : 0));
  core.warp_columns = random_.between(1, most);
  if (is_wgmma() && !core.swap_ab)
    channel().tile = core.op->n * core.warp_columns;
  else if (is_wgmma())
    core.rows = core.op->n * core.warp_rows;
}

void MatrixChange::change_depth() {
  schedule_.splits[roles_.depth()].tile =
      random_.of<std::int64_t>({32, 64, 128}) / size_bytes(schedule_.core.op->a.type);
}

void MatrixChange::change_run() { channel().vec = random_.of<std::int64_t>({1, 2, 4, 8, 16}); }

void MatrixChange::change_stages() {
  if (data().footprint == Footprint::Halo && random_.chance(50))
    data().stages = static_cast<int>(random_.between(1, kMostWindows));
  else
    set_step_stages(schedule_, static_cast<int>(random_.between(2, kMostStages)));
}

void MatrixChange::change_engine() {
  if (is_wgmma())
    data().engine = data().engine == Engine::Tma ? Engine::CpAsync : Engine::Tma;
}

// Windows beside a filter that streams or stays, or neither.
void MatrixChange::change_footprints() {
  if (!is_wgmma())
    return;
  if (data().footprint == Footprint::Halo) {
    data().footprint = filter().footprint = Footprint::Step;
    data().stages = filter().stages;
    for (const nest::IndexId i : roles_.pixels)
      schedule_.splits[i].tile = 1;
    return;
  }
  data().footprint = Footprint::Halo;
  choose_box(nest_, schedule_, 1);
  if (random_.chance(50))
    filter().footprint = Footprint::Resident;
  fit_stages(nest_, schedule_, target_);
}

void MatrixChange::change_extra() {
  if (!is_wgmma())
    return;
  const auto stages = static_cast<int>(random_.between(0, schedule_.roles.math.instances));
  schedule_.extra = {.engine = stages == 0 ? Engine::Items : Engine::Tma, .stages = stages};
}

void MatrixChange::change_store() {
  if (is_wgmma())
    schedule_.store = schedule_.store == Store::Tma ? Store::Direct : Store::Tma;
}

// Ping-pong, or all warps on one tile.
void MatrixChange::change_instances() {
  if (!is_wgmma())
    return;
  schedule_.roles.math.instances = 3 - schedule_.roles.math.instances;
  if (schedule_.extra.stages > 1)
    schedule_.extra.stages = schedule_.roles.math.instances;
}

void MatrixChange::change_cluster() {
  if (!is_wgmma())
    return;
  const auto [m, n] = random_.of({std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}});
  schedule_.tiles.cluster_m = m;
  schedule_.tiles.cluster_n = n;
  schedule_.tiles.split_k = 1;
}

void MatrixChange::change_split() {
  if (!is_wgmma())
    return;
  schedule_.tiles.split_k = random_.of<std::int64_t>({1, 2, 4, 8});
  schedule_.tiles.cluster_m = schedule_.tiles.cluster_n = 1;
}

// A block for each tile, or one for each multiprocessor.
void MatrixChange::change_persistence() {
  if (!is_wgmma())
    return;
  schedule::TileOrder &tiles = schedule_.tiles;
  const std::int64_t clusters = std::max<std::int64_t>(1, target_.compute_units / tiles.cluster());
  tiles.persistent = tiles.persistent == 0 ? clusters * tiles.cluster() : 0;
}

void MatrixChange::change_raster() {
  using schedule::Raster;
  schedule_.tiles.raster = schedule_.tiles.raster == Raster::Rows ? Raster::Columns : Raster::Rows;
}

void MatrixChange::change_instruction_order() {
  if (is_wgmma())
    schedule_.core.k_inner = !schedule_.core.k_inner;
}

// Points in the instruction's columns, or in its rows again, by the instruction that has the types
// of both sides so.
void MatrixChange::change_swap() {
  Core &core = schedule_.core;
  if (!is_wgmma())
    return;
  const CoreOp *op = wgmma_op_for(nest_, {core.op->n, core.op->tf32, !core.swap_ab});
  if (op == nullptr)
    return;
  core.op = op;
  core.swap_ab = !core.swap_ab;
  core.rows = (core.swap_ab ? core.op->n : 64) * core.warp_rows;
  channel().tile = (core.swap_ab ? 64 : core.op->n) * core.warp_columns;
  channel().vec = 2;
}

// Some registers go from those that multiply to those that load, or back.
void MatrixChange::change_registers() {
  schedule::WarpRoles &roles = schedule_.roles;
  const Core &core = schedule_.core;
  const auto math = static_cast<int>(core.warp_rows * core.warp_columns) * roles.math.instances;
  const int by = random_.of({-8, 8});
  if (roles.math.registers == 0)
    return;
  roles.math.registers -= by;
  roles.load.registers += by * math;
}

void MatrixChange::one() {
  constexpr std::array<Step, 17> kSteps = {
      &MatrixChange::change_instruction, &MatrixChange::change_rows,
      &MatrixChange::change_warps,       &MatrixChange::change_depth,
      &MatrixChange::change_run,         &MatrixChange::change_stages,
      &MatrixChange::change_engine,      &MatrixChange::change_footprints,
      &MatrixChange::change_extra,       &MatrixChange::change_store,
      &MatrixChange::change_instances,   &MatrixChange::change_cluster,
      &MatrixChange::change_split,       &MatrixChange::change_persistence,
      &MatrixChange::change_raster,      &MatrixChange::change_instruction_order,
      &MatrixChange::change_swap};
  (this->*kSteps[at(static_cast<int>(random_.between(0, kSteps.size() - 1)))])();
}

void MatrixChange::settle_roles() {
  if (!is_wgmma())
    return;
  const schedule::Raster raster = schedule_.tiles.raster;
  const bool k_inner = schedule_.core.k_inner;
  schedule::TileOrder &tiles = schedule_.tiles;
  tiles.persistent = (tiles.persistent + tiles.cluster() - 1) / tiles.cluster() * tiles.cluster();
  assign_roles(nest_, schedule_, target_);
  tiles.raster = raster;
  schedule_.core.k_inner = k_inner;
  if (random_.chance(20))
    schedule_.roles.load.early =
        !schedule_.roles.load.early && can_copy_early(gemm_of(nest_, schedule_));
  if (random_.chance(20))
    schedule_.roles.load.lead =
        static_cast<int>(random_.between(0, most_lead(gemm_of(nest_, schedule_))));
  if (random_.chance(20))
    schedule_.roles.math.tests_rows = !schedule_.roles.math.tests_rows;
  if (random_.chance(20))
    change_registers();
}

} // namespace

std::optional<Schedule> matrix_neighbour(const Nest &nest, const Target &target, const Schedule &of,
                                         Random &random) {
  for (int i = 0; i < kTries; ++i) {
    Schedule schedule = of;
    MatrixChange change(nest, target, schedule, random);
    for (std::int64_t left = random.between(1, 3); left > 0; --left)
      change.one();
    change.settle_roles();
    if (schedule != of && !illegal(nest, schedule, target))
      return schedule;
  }
  return std::nullopt;
}

} // namespace tilefuse::search
