// SPDX-License-Identifier: Apache-2.0
// Work-items that multiply and add without matrix instructions, in CUDA C++: NVRTC compiles them
// without spilling.
#include <numeric>

#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "lower/random_nests.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

TEST(Cuda, RandomSchedulesCompile) {
  std::vector<Package> packages;
  std::vector<std::uint64_t> seeds(testing::by_night<std::size_t>(24, 4));
  std::iota(seeds.begin(), seeds.end(), 0);
  seeds.insert(seeds.end(), {545, 614, 636}); // each work-item copies 45 to 63 elements of a tile
  for (const std::uint64_t seed : seeds) {
    testing::Random random(seed);
    const nest::Nest nest = testing::random_nest(random, seed % 4 == 3 ? DType::F16 : DType::F32);
    const schedule::Schedule schedule = testing::random_schedule(random, nest, cuda_target());
    packages.push_back(make_cuda_emitter()->emit(
        lower::lower({.anchor = nest}, schedule, cuda_target()), cuda_target()));
  }
  expect_clean(packages);
}

// Implicit GEMM whose chunks asynchronous copies fetch: neither registers nor local memory spill.
TEST(Cuda, RingsOfWorkItemsCompile) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
    index n 8, y 14, x 14, m 256 | c 256, r 3, s 3
    slot 0 f32 401408, 1 f32 589824, 2 f32 401408
    acc f32 = sum mul
    in 0 + 0 [n:8*50176, y + r - 1:14?*3584, x + s - 1:14?*256, c:256*1]
    in 1 + 0 const [m:256*2304, c:256*9, r:3*3, s:3*1]
    out 2 + 0 [n:8*50176, y:14*3584, x:14*256, m:256*1]
    post max(acc, 0)
  })")};
  std::vector<Package> packages;
  const search::NamedSchedule named =
      search::named_schedule("igemm_async", group.anchor, cuda_target());
  ASSERT_TRUE(named.schedule) << named.refusal;
  packages.push_back(make_cuda_emitter()->emit(lower::lower(group, *named.schedule, cuda_target()),
                                               cuda_target()));
  EXPECT_NE(packages[0].code.find("cp.async.cg"), std::string::npos);
  expect_clean(packages);
}

} // namespace
} // namespace tilefuse::emit
