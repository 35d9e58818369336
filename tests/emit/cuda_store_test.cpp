// SPDX-License-Identifier: Apache-2.0
// Results of wgmma that leave by tensor stores, swapped operands and windows of data: the text of a
// store, and kernels that NVRTC compiles without spilling.
#include <array>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// With bias and residual, `size` points each way, on a few of the forms.
std::vector<Package> packages_of(const char *name, int images, int size, std::size_t each,
                                 int channels = 128, bool ahead = false) {
  std::vector<Package> packages;
  for (const auto &[in, out, acc] :
       {std::tuple("f16", "f16", "f32"), {"i8", "i8", "i32"}, {"f32", "f32", "f32"}}) {
    const poly::Group group{nest::parse_nest(fmt::format(
        R"(nest conv {{
  index n {5}, y {6}, x {6}, m {8} | r 3, s 3, c {8}
  slot 0 {0} {3}, 1 {0} {9}, 2 {1} {3}, 3 f32 {8}, 4 {1} {3}
  acc {2} = sum mul
  in 0 + 0 [n:{5}*{4}, y + r - 1:{6}?*{7}, x + s - 1:{6}?*{8}, c:{8}*1]
  in 1 + 0 const [m:{8}*{10}, r:3*{11}, s:3*{8}, c:{8}*1]
  out 2 + 0 [n:{5}*{4}, y:{6}*{7}, x:{6}*{8}, m:{8}*1]
  extra 3 + 0 [m:{8}*1]
  extra 4 + 0 [n:{5}*{4}, y:{6}*{7}, x:{6}*{8}, m:{8}*1]
  post {1}(max(f32(acc) + $0 + f32($1), 0))
}})",
        in, out, acc, images * size * size * channels, size * size * channels, images, size,
        size * channels, channels, 9 * channels * channels, 9 * channels, 3 * channels))};
    auto all =
        search::every_wgmma_schedule(group.anchor, hopper_target(), std::string_view(in) == "f32");
    std::erase_if(all, [&](const schedule::Schedule &one) {
      return !one.name.ends_with(name) || (one.extra.stages > 0) != ahead;
    });
    EXPECT_GE(all.size(), 4u);
    for (const std::size_t i :
         testing::sampled(testing::steps(all.size(), each, packages.size()), packages.size()))
      packages.push_back(
          make_cuda_emitter()->emit(lower::lower(group, all[i], hopper_target()), hopper_target()));
  }
  return packages;
}

TEST(CudaStore, TextOfAStore) {
  const Package package = make_cuda_emitter()->emit(kernel::parse_kernel(R"(
kernel stores blocks 1 block_size 32 {
  global y f16[320]
  local s f16[256]
  tensor_map t = y + 0 dims [16, 20] strides [1, 16] box [16, 16] swizzle 32
  s[lane] = f16(f32(lane))
  store_fence
  barrier warp
  if lane == 0 { tensor_store t[0, 4] = s[0] store_commit store_wait 0 }
})"),
                                                    hopper_target());
  const std::string &text = package.code;
  for (const char *line :
       {"fence.proxy.async.shared::cta;", "cp.async.bulk.commit_group;",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];",
        "cp.async.bulk.wait_group.read 0;"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  expect_clean({package}, std::array{"sm_90a"});
}

// Without the exit ptxas 13.0 rounds sums of a kept window's gradient before they are complete.
TEST(CudaStore, WaitsForAllEndABasicBlock) {
  const std::vector<Package> packages = packages_of("_window", 8, 56, 8, 64);
  ASSERT_FALSE(packages.empty());
  for (const Package &package : packages) {
    const auto count = [&](std::string_view what) {
      std::size_t found = 0;
      for (std::size_t at = package.code.find(what); at != std::string::npos;
           at = package.code.find(what, at + 1))
        ++found;
      return found;
    };
    EXPECT_GT(count("wgmma.wait_group.sync.aligned 0;"), 0u);
    EXPECT_EQ(count("wgmma.wait_group.sync.aligned 0;"),
              count("wgmma.wait_group.sync.aligned 0; setp.ne.u32 p, %0, 1; @p exit;"));
  }
}

TEST(CudaStore, BoxesCompile) {
  expect_clean(packages_of("_store", 32, 28, 6), std::array{"sm_90a"});
}

TEST(CudaStore, WindowsCompile) {
  expect_clean(packages_of("_window", 8, 56, 2, 64), std::array{"sm_90a"});
  expect_clean(packages_of("_window", 8, 28, 4, 64), std::array{"sm_90a"});
}

// Gradients whose kept filter is dealt: no more registers than a straight one's.
TEST(CudaStore, DealtFiltersCompile) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 8, y 56, x 56, c 64 | m 64, r 3, s 3
  slot 0 f16 1605632, 1 f16 36864, 2 f16 1605632
  acc f32 = sum mul
  in 0 + 0 [n:8*200704, y - r + 1:56?*3584, x - s + 1:56?*64, m:64*1]
  in 1 + 0 [m:64*576, r:3*192, s:3*64, c:64*1]
  out 2 + 0 [n:8*200704, y:56*3584, x:56*64, c:64*1]
  post f16(acc)
})")};
  std::vector<Package> packages;
  for (const auto &one : search::every_wgmma_schedule(group.anchor, hopper_target(), false))
    if (deals_kept_filter(gemm_of(group.anchor, one)))
      packages.push_back(
          make_cuda_emitter()->emit(lower::lower(group, one, hopper_target()), hopper_target()));
  EXPECT_GE(packages.size(), 4u);
  packages = testing::sampled(packages);
  expect_clean(packages, std::array{"sm_90a"});
}

// Residuals that come ahead of their tiles, in each form.
TEST(CudaStore, FetchedOperandsCompile) {
  expect_clean(packages_of("", 8, 28, 6, 64, true), std::array{"sm_90a"});
  expect_clean(packages_of("", 32, 14, 6, 256, true), std::array{"sm_90a"});
}

TEST(CudaStore, SwappedOperandsCompile) {
  expect_clean(packages_of("_swapped", 1, 7, 5), std::array{"sm_90a"});
}

// As [n, m, y, x], and a gradient as [m, c, r, s].
TEST(CudaStore, ResultsWhoseChannelsAreNoNeighboursCompile) {
  constexpr std::string_view kConv = R"(nest conv {
  index n 2, m 128, y 14, x 14 | r 3, s 3, c 128
  slot 0 f16 50176, 1 f16 147456, 2 f16 50176
  acc f32 = sum mul
  in 0 + 0 [n:2*25088, y + r - 1:14?*1792, x + s - 1:14?*128, c:128*1]
  in 1 + 0 [m:128*1152, r:3*384, s:3*128, c:128*1]
  out 2 + 0 [n:2*25088, m:128*196, y:14*14, x:14*1]
  post f16(acc)
})";
  constexpr std::string_view kGradient = R"(nest conv {
  index m 128, c 128, r 3, s 3 | n 2, y 14, x 14
  slot 0 f16 50176, 1 f16 50176, 2 f16 147456
  acc f32 = sum mul
  in 0 + 0 [n:2*25088, y:14*1792, x:14*128, m:128*1]
  in 1 + 0 [n:2*25088, r + y - 1:14?*1792, s + x - 1:14?*128, c:128*1]
  out 2 + 0 [m:128*1152, c:128*9, r:3*3, s:3*1]
  post f16(acc)
})";
  std::vector<Package> packages;
  for (const std::string_view text : {kConv, kGradient}) {
    const poly::Group group{nest::parse_nest(text)};
    const auto all = search::wgmma_schedules(group.anchor, hopper_target(), false);
    EXPECT_GE(all.size(), 4u);
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 3)))
      packages.push_back(
          make_cuda_emitter()->emit(lower::lower(group, all[i], hopper_target()), hopper_target()));
  }
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
