// SPDX-License-Identifier: Apache-2.0
// Kernels that join the parts of a reduction in their own launch, and classes of strided gradients
// that share one, compile for Ampere and Hopper, without a spill or advice of ptxas.
#include <array>
#include <utility>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/launch/lower_launch.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "nest/flatten/split.h"
#include "search/forms/core_forms.h"
#include "search/groups.h"
#include "search/joinable.h"
#include "search/network/launches.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// Of two groups, parts and join, that are one launch.
Package joined(const nest::SplitNests &nests, schedule::Schedule partial, const Target &target) {
  std::vector<launch::Part> kernels(2);
  for (const std::optional<nest::SlotId> slot : nests.partial_slots)
    kernels[0].placed.buffers.push_back(program::BufferId{slot ? to_int(*slot) : 100});
  for (const std::optional<nest::SlotId> slot : nests.join_slots)
    kernels[1].placed.buffers.push_back(program::BufferId{slot ? to_int(*slot) : 100});
  kernels[0].placed.group.anchor = nests.partial;
  kernels[1].placed.group.anchor = nests.join;
  kernels[1].placed.joins_tiles = true;
  kernels[0].schedule = std::move(partial);
  kernels[1].schedule = schedule::scalar_schedule(nests.join);
  const auto launches =
      search::choose_launches(std::move(kernels), target, search::pick_of_size(target));
  EXPECT_EQ(launches.size(), 1u);
  return make_cuda_emitter()->emit(lower::lower_launch(launches[0], target), target);
}

TEST(Cuda, JoinsInTheirOwnLaunchCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const char *type : {"f32", "f16"}) {
    const model::Conv conv{.h = 7, .w = 7, .c = 512, .k = 512, .in = type, .out = type};
    const poly::Group group = model::group_of(conv);
    const nest::SplitNests nests =
        split_reduction(group.anchor, nest::parse_split(group.anchor, "c:4"), true);
    search::Searches searches(target);
    const auto found = search::pick_joinable(nests.partial, nests.join, searches);
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

// Zeros stored beside results, and classes in step in the same blocks, whose results leave in boxes of
// an image.
TEST(Cuda, ClassesOfStridedGradientsCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const auto &[size, taps] : {std::pair(57, 1), {55, 3}}) {
    const model::GradientConv problem{.n = 128,
                                      .h = size,
                                      .w = size,
                                      .c = 128,
                                      .k = 256,
                                      .r = taps,
                                      .s = taps,
                                      .stride = 2,
                                      .pad = taps / 2};
    std::vector<launch::Part> kernels;
    for (poly::PlacedGroup &placed : model::placed_gradients(problem, model::By::Input)) {
      schedule::Schedule picked =
          taps == 1 ? search::pick(placed.group, target)
                    : search::named_core_schedule("wgmma_store", placed.group.anchor, target)
                          .schedule.value();
      kernels.push_back({std::move(placed), std::move(picked)});
    }
    const auto launches =
        search::choose_launches(std::move(kernels), target, search::pick_of_size(target));
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].parts.back().place,
              taps == 1 ? launch::Place::Between : launch::Place::InStep);
    packages.push_back(make_cuda_emitter()->emit(lower::lower_launch(launches[0], target), target));
    EXPECT_EQ(packages.back().code.find("im2col_no_offs") != std::string::npos, taps > 1);
  }
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
