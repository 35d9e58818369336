// SPDX-License-Identifier: Apache-2.0
// Attention in one kernel, a row's keys in one warp or shared by several, compiles without spills.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/attention.h"
#include "search/forms/row_product_forms.h"

namespace tilefuse::emit {
namespace {

TEST(CudaRows, SharedByWarpsCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const model::Attention &of :
       {model::Attention{.rows = 730, .keys = 730, .depth = 32, .values = 32},
        {.rows = 577, .keys = 577, .type = DType::BF16},
        {.rows = 192, .keys = 192}}) {
    const std::vector<poly::PlacedGroup> groups = model::groups_of(of, target);
    ASSERT_EQ(groups.size(), 1u) << of.keys;
    std::int64_t sharers = 0; // the largest block of each number of warps to a row
    for (const schedule::Schedule &each : search::row_product_schedules(groups[0].group, target)) {
      if (each.core.warp_columns == sharers)
        continue;
      sharers = each.core.warp_columns;
      packages.push_back(
          make_cuda_emitter()->emit(lower::lower(groups[0].group, each, target), target));
    }
  }
  EXPECT_GE(packages.size(), 5u);
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
