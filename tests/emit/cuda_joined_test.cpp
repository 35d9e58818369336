// SPDX-License-Identifier: Apache-2.0
// Kernels that join the parts of a reduction in their own launch, and classes of strided gradients
// that share one, compile for Ampere and Hopper, without a spill or advice of ptxas.
#include <array>
#include <utility>

#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/plan/launches.h"
#include "nest/flatten/split.h"
#include "search/forms/wgmma_forms.h"
#include "search/groups.h"
#include "search/joinable.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// Of two groups, parts and join, that are one launch.
Package joined(const nest::SplitNests &nests, schedule::Schedule partial, const Target &target) {
  std::vector<poly::PlacedGroup> groups(2);
  for (const int slot : nests.partial_slots)
    groups[0].buffers.push_back(program::BufferId{slot < 0 ? 100 : slot});
  for (const int slot : nests.join_slots)
    groups[1].buffers.push_back(program::BufferId{slot < 0 ? 100 : slot});
  groups[0].group.anchor = nests.partial;
  groups[1].group.anchor = nests.join;
  groups[1].joins_tiles = true;
  std::vector<schedule::Schedule> schedules = {std::move(partial),
                                               schedule::scalar_schedule(nests.join)};
  const std::vector<model::LaunchPart> parts = {{&groups[0], &schedules[0]},
                                                {&groups[1], &schedules[1]}};
  const auto launches = model::make_launches(parts, target, model::pick_of_size(target));
  EXPECT_EQ(launches.size(), 1u);
  return make_cuda_emitter()->emit(model::lower_launch(launches[0], parts, target), target);
}

TEST(Cuda, JoinsInTheirOwnLaunchCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const char *type : {"f32", "f16"}) {
    const model::Conv conv{.h = 7, .w = 7, .c = 512, .k = 512, .in = type, .out = type};
    const poly::Group group = model::group_of(conv);
    const nest::SplitNests nests =
        split_reduction(group.anchor, nest::parse_split(group.anchor, "c:4"), true);
    const auto found = search::pick_joinable(nests.partial, nests.join, target);
    ASSERT_TRUE(found);
    packages.push_back(joined(nests, found->partial.schedule, target));
    const auto all = search::wgmma_schedules(nests.partial, target, false);
    for (const std::size_t i : testing::steps(all.size(), testing::by_night<std::size_t>(4, 16)))
      if (tile_join(nests.partial, all[i], nests.join, target).refusal.empty())
        packages.push_back(joined(nests, all[i], target));
  }
  ASSERT_GE(packages.size(), 3u);
  for (const Package &package : packages) {
    EXPECT_GT(package.counts, 0);
    EXPECT_NE(package.code.find("atom.acq_rel.gpu"), std::string::npos);
  }
  expect_clean(packages, std::array{"sm_90a"});
}

// Zeros stored beside results, and classes in step in the same blocks.
TEST(Cuda, ClassesOfStridedGradientsCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const auto &[size, taps] : {std::pair(57, 1), {55, 3}}) {
    std::vector<poly::PlacedGroup> groups = model::placed_gradients({.n = 128,
                                                                     .h = size,
                                                                     .w = size,
                                                                     .c = 128,
                                                                     .k = 256,
                                                                     .r = taps,
                                                                     .s = taps,
                                                                     .stride = 2,
                                                                     .pad = taps / 2},
                                                                    model::By::Input);
    std::vector<schedule::Schedule> schedules;
    for (const poly::PlacedGroup &placed : groups)
      schedules.push_back(search::pick(placed.group, target));
    std::vector<model::LaunchPart> parts;
    for (std::size_t g = 0; g < groups.size(); ++g)
      parts.push_back({&groups[g], &schedules[g]});
    const auto launches = model::make_launches(parts, target, model::pick_of_size(target));
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].places.back(), taps == 1 ? model::Place::Between : model::Place::InStep);
    packages.push_back(
        make_cuda_emitter()->emit(model::lower_launch(launches[0], parts, target), target));
    EXPECT_EQ(packages.back().code.find("im2col_no_offs") != std::string::npos, taps > 1);
  }
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
