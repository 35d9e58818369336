// SPDX-License-Identifier: Apache-2.0
// Kernels on clusters of blocks compile for Hopper, without a spill or advice of ptxas.
#include <array>
#include <utility>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "search/forms/core_forms.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// Clusters that share the filter, the data, or both; gradients.
TEST(Cuda, WgmmaOnClustersCompiles) {
  constexpr auto kShapes =
      std::to_array<std::pair<std::int64_t, std::int64_t>>({{2, 1}, {1, 2}, {2, 2}});
  const Target target = hopper_target();
  std::vector<poly::Group> groups = {
      model::group_of({.n = 32, .h = 14, .w = 14, .c = 256, .k = 256})};
  for (const model::By by : {model::By::Input, model::By::Filter})
    for (poly::Group &group : model::gradients({.n = 32, .h = 14, .w = 14, .c = 256, .k = 256}, by))
      groups.push_back(std::move(group));
  std::vector<Package> packages;
  for (const poly::Group &group : groups) {
    const auto all = search::wgmma_schedules(group.anchor, target, false);
    for (const std::size_t i : testing::steps(all.size(), testing::by_night<std::size_t>(3, 5))) {
      const auto [rows, columns] = kShapes[i / 3 % kShapes.size()];
      if (const auto found = search::with_cluster(group.anchor, all[i], target, rows, columns))
        packages.push_back(make_cuda_emitter()->emit(lower::lower(group, *found, target), target));
    }
  }
  ASSERT_GE(packages.size(), 12u);
  for (const char *word :
       {"__cluster_dims__(2, 1, 1)", ".multicast::cluster", "tf_mbarrier_arrive_at"})
    EXPECT_NE(packages[0].code.find(word), std::string::npos) << word;
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
