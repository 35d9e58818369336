// SPDX-License-Identifier: Apache-2.0
// Kernels with wgmma whose data warps gather, in CUDA C++: NVRTC compiles them without spilling.
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/conv_nest.h"
#include "model/spread_case.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// Every `each`-th of them, from number `first` on; by day some of these.
std::vector<Package> packages_of(const poly::Group &group, std::size_t each, std::size_t first) {
  const Target target = hopper_target();
  auto all = search::every_wgmma_schedule(group.anchor, target, false);
  std::erase_if(all, [](const schedule::Schedule &one) { return !has_loading_warps(one); });
  EXPECT_GT(all.size(), first);
  std::vector<Package> packages;
  for (const std::size_t i : testing::sampled(testing::steps(all.size(), each, first), first))
    packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
  return packages;
}

TEST(CudaGather, ChannelsInBlocksCompile) {
  expect_clean(packages_of(model::nchw32(32, 4, 28, 8, 3), 4, 0), std::array{"sm_90a"});
  expect_clean(packages_of(model::nchw32(32, 2, 56, 2, 3), 3, 1), std::array{"sm_90a"});
  expect_clean(packages_of(model::nchw32(32, 16, 14, 16, 1, 2), 4, 2), std::array{"sm_90a"});
}

TEST(CudaGather, ShortRunsCompile) {
  expect_clean(packages_of(model::group_of({.n = 32, .h = 14, .w = 14, .c = 100, .k = 128}), 5, 0),
               std::array{"sm_90a"});
}

// Pixels of f32 in NCHW, and of f16 in NHWC.
TEST(CudaGather, SpreadPixelsCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const bool is_plain : {true, false}) {
    const auto group = model::spread({.n = 32,
                                      .h = 224,
                                      .w = 224,
                                      .k = 64,
                                      .r = is_plain ? 7 : 3,
                                      .s = is_plain ? 7 : 3,
                                      .stride = 2,
                                      .pad = is_plain ? 3 : 1,
                                      .from = is_plain ? "f32" : "f16",
                                      .has_channels_last = !is_plain});
    ASSERT_TRUE(group);
    for (const schedule::Schedule &one : search::fed_core_schedules(*group, target, false))
      packages.push_back(make_cuda_emitter()->emit(lower::lower(*group, one, target), target));
  }
  EXPECT_GE(packages.size(), 6U);
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
