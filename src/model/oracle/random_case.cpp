// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/random_case.h"

#include "model/oracle/random_nest.h"
#include "model/oracle/random_product.h"
#include "model/oracle/random_sum.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/part_forms.h"
#include "search/matrix_neighbours.h"
#include "search/sample.h"
#include "search/sample_core.h"
#include "search/tile_sums.h"

namespace tilefuse::model {
namespace {

constexpr Features kAmpere = {Feature::AsyncCopies, Feature::MatrixUnits, Feature::LaunchQueue,
                              Feature::PackedRounding, Feature::EitherLanes};
constexpr Features kHopper = {Feature::AsyncCopies, Feature::MatrixUnits, Feature::WarpgroupMatrix,
                              Feature::LaunchQueue, Feature::EarlyLaunch, Feature::PackedRounding,
                              Feature::EitherLanes};

KernelCase draw_case(const Tapes &tapes, const Target &target, Random &schedules) {
  Random nests(tapes.nest);
  KernelCase drawn;
  drawn.group.anchor = random_nest(nests);
  drawn.target = target;
  const nest::Nest &nest = drawn.group.anchor;
  drawn.schedule =
      search::sample(nest, target, schedules).value_or(schedule::scalar_schedule(nest));
  drawn.values = tapes.data % 2 == 1 ? Values::Reals : Values::Integers;
  drawn.seed = tapes.data;
  return drawn;
}

// A GPU of so many bytes of local memory for its matrix instructions.
Target core_target(const char *isa, std::int64_t local_bytes, Features features) {
  Target target{.name = "fuzz_cores", .backend = "cuda", .isa = isa, .features = features};
  target.lanes = LaneKind::WorkItem;
  target.vector_f32 = target.warp = 32;
  target.local_banks = 32;
  target.sector_bytes = 32;
  target.max_group = 1024;
  target.local_bytes = local_bytes;
  target.fp16_storage = true;
  return target;
}

constexpr int kDraws = 8; // of schedules, until one is of the kind that is wanted

// Reals that are rounded to tf32 have no bound.
KernelCase with_values(KernelCase drawn) {
  if (drawn.seed % 2 == 1 && !drawn.schedule.core.op->tf32)
    drawn.values = Values::Reals;
  return drawn;
}

} // namespace

Target random_target(Random &random, LaneKind lanes) {
  Target target{.name = "fuzz_vector",
                .backend = "llvm",
                .lanes = lanes,
                .features = {Feature::PrefetchHints}};
  target.local_bytes = random.of<std::int64_t>({1 << 20, 48 << 10, 4 << 10, 256});
  if (lanes == LaneKind::Vector)
    return target;
  target.name = "fuzz_items";
  target.backend = "opencl";
  target.isa = "CL1.2 sm_80";
  target.features = {Feature::AsyncCopies, Feature::PackedRounding, Feature::EitherLanes};
  target.vector_f32 = 32;
  target.max_group = random.of({64, 256, 1, 7, 32});
  return target;
}

KernelCase draw_case(const Tapes &tapes, const Target &target) {
  Random schedules(tapes.schedule);
  return draw_case(tapes, target, schedules);
}

KernelCase draw_case(const Tapes &tapes, LaneKind lanes) {
  Random schedules(tapes.schedule);
  const Target target = random_target(schedules, lanes);
  return draw_case(tapes, target, schedules);
}

std::optional<KernelCase> draw_core_case(const Tapes &tapes) {
  Random nests(tapes.nest);
  Random schedules(tapes.schedule);
  const Target target = core_target("sm_80", 160 << 10, kAmpere);
  KernelCase drawn{.group = {random_product(nests)}, .target = target, .seed = tapes.data};
  const auto schedule = search::sample_core(drawn.group.anchor, target, schedules);
  if (!schedule)
    return {};
  drawn.schedule = *schedule;
  return with_values(std::move(drawn));
}

std::optional<KernelCase> draw_wgmma_case(const Tapes &tapes) {
  Random nests(tapes.nest);
  Random schedules(tapes.schedule);
  KernelCase drawn{.group = {random_product(nests)},
                   .target = core_target("sm_90a", 227 << 10, kHopper),
                   .seed = tapes.data};
  const nest::Nest &nest = drawn.group.anchor;
  const bool tf32 = nest.slots[0].type == DType::F32;
  const std::vector<schedule::Schedule> all =
      search::every_wgmma_schedule(nest, drawn.target, tf32);
  if (all.empty())
    return {};
  drawn.schedule = schedules.of(all);
  if (schedules.chance(30)) {
    const auto [rows, columns] = schedules.of({std::pair{2, 1}, {1, 2}, {2, 2}, {4, 1}});
    drawn.schedule = search::with_cluster(nest, drawn.schedule, drawn.target, rows, columns)
                         .value_or(drawn.schedule);
  } else if (schedules.chance(30)) {
    drawn.schedule = search::with_parts(nest, drawn.schedule, drawn.target,
                                        schedules.of<std::int64_t>({2, 4, 8}))
                         .value_or(drawn.schedule);
  }
  if (schedules.chance(60))
    drawn.schedule = search::matrix_neighbour(nest, drawn.target, drawn.schedule, schedules)
                         .value_or(drawn.schedule);
  return with_values(std::move(drawn));
}

std::optional<KernelCase> draw_sum_case(const Tapes &tapes) {
  Random nests(tapes.nest);
  Random schedules(tapes.schedule);
  const SummedProduct product = random_summed_product(nests);
  KernelCase drawn{.group = {product.product},
                   .target = core_target("sm_90a", 227 << 10, kHopper),
                   .seed = tapes.data};
  const std::vector<schedule::Schedule> all =
      search::every_wgmma_schedule(product.product, drawn.target, false);
  for (int i = 0; i < kDraws && !all.empty(); ++i) {
    const schedule::Schedule &each = schedules.of(all);
    const std::optional<poly::Group> group = with_sum(product, each);
    const std::optional<schedule::Schedule> fitted =
        group ? search::fit_tile_sums(*group, each, drawn.target) : std::nullopt;
    if (!fitted)
      continue;
    drawn.group = *group;
    drawn.schedule = *fitted;
    return with_values(std::move(drawn));
  }
  return {};
}

std::optional<KernelCase> draw_dot_case(const Tapes &tapes, const Target &target) {
  Random nests(tapes.nest);
  Random schedules(tapes.schedule);
  KernelCase drawn{.group = {random_product(nests)}, .target = target, .seed = tapes.data};
  nest::Nest &nest = drawn.group.anchor;
  if (nest.acc_type != DType::I32)
    return {};
  for (const nest::Operand &input : nest.inputs)
    nest.slots[input.slot].type = nests.of({DType::U8, DType::I8});
  nest.inputs[1].constant = true;
  for (int i = 0; i < kDraws; ++i) {
    const auto schedule = search::sample(nest, target, schedules);
    if (!schedule || schedule->dot == nullptr)
      continue;
    drawn.schedule = *schedule;
    return drawn;
  }
  return {};
}

std::optional<KernelCase> draw_dot_case(const Tapes &tapes) {
  Random targets(tapes.schedule);
  constexpr int kOfVectors = 70; // of 100
  Target target =
      random_target(targets, targets.chance(kOfVectors) ? LaneKind::Vector : LaneKind::WorkItem);
  target.vector_f32 = target.lanes == LaneKind::Vector ? 16 : target.vector_f32;
  for (const DotOp &op : dot_ops())
    target.dots.push_back({&op, 4 * target.gflops_per_unit});
  return draw_dot_case(tapes, target);
}

} // namespace tilefuse::model
