// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks join parts of a tile through each other's shared memory compile for Hopper,
// without a spill or advice of ptxas.
#include <array>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/part_forms.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// Of one tile a cluster, and of several; gradients, other types, swapped.
TEST(Cuda, WgmmaInPartsCompiles) {
  const Target target = hopper_target();
  std::vector<poly::Group> groups = {
      model::group_of({.n = 32, .h = 7, .w = 7, .c = 512, .k = 512}),
      model::group_of({.n = 32,
                       .h = 7,
                       .w = 7,
                       .c = 96,
                       .k = 512,
                       .in = "i8",
                       .out = "i8",
                       .acc = "i32",
                       .post = "i8(max(min(round(f32(acc) * $0), 127), -128))"}),
      model::group_of({.n = 1, .h = 7, .w = 7, .c = 512, .k = 512})};
  for (const model::By by : {model::By::Input, model::By::Filter})
    for (poly::Group &group : model::gradients({.n = 32, .h = 7, .w = 7, .c = 512, .k = 512}, by))
      groups.push_back(std::move(group));
  std::vector<Package> packages;
  std::size_t number = 0;
  for (const poly::Group &group : groups) {
    const auto all = search::every_wgmma_schedule(group.anchor, target, false);
    const std::size_t each = testing::by_night(5, 10);
    for (const std::size_t i : testing::steps(all.size(), each, number)) {
      const std::int64_t parts = std::array<std::int64_t, 3>{2, 4, 8}[number++ % 3];
      if (const auto found = search::with_parts(group.anchor, all[i], target, parts))
        packages.push_back(make_cuda_emitter()->emit(lower::lower(group, *found, target), target));
    }
  }
  ASSERT_GE(packages.size(), 12U);
  for (const char *word : {"__cluster_dims__(", "tf_of_rank(", "tf_mbarrier_arrive_at_cluster("})
    EXPECT_NE(packages[0].code.find(word), std::string::npos) << word;
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
