// SPDX-License-Identifier: Apache-2.0
// Work-items that multiply and add without matrix instructions, in CUDA C++: NVRTC compiles them
// without spilling.
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "lower/random_nests.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/pick.h"
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

// Every row of bytes without registers of rows is one instruction of a work-item.
TEST(Cuda, DotProductsCompile) {
  std::vector<Package> packages;
  for (const DotOp &op : dot_ops()) {
    if (has_rows(op))
      continue;
    const kernel::Kernel kernel = kernel::parse_kernel(
        fmt::format(R"(
kernel dots blocks 1 block_size 32 {{
  global const x {0}[128]
  global const w {1}[{2}]
  global y i32[32]
  y[lane] = {3}(x[lane * {4} .. {4}], w[lane * {4} .. {4}], y[lane])
}})",
                    to_string(op.a), to_string(op.b), 32 * op.products, op.name, op.products));
    if (size_bytes(op.a) > 1) {
      EXPECT_THROW(make_cuda_emitter()->emit(kernel, cuda_target()), Error);
      continue;
    }
    packages.push_back(make_cuda_emitter()->emit(kernel, cuda_target()));
    EXPECT_NE(packages.back().code.find("dp4a."), std::string::npos);
  }
  EXPECT_EQ(packages.size(), 3u);
  expect_clean(packages);
}

// What search picks for bytes on a GPU without matrix units.
TEST(Cuda, ProductsOfBytesCompile) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
    index y 28, x 28, m 128 | r 3, s 3, c 64
    slot 0 u8 50176, 1 i8 73728, 2 i32 100352
    acc i32 = sum mul
    in 0 + 0 [y + r - 1:28?*1792, x + s - 1:28?*64, c:64*1]
    in 1 + 0 const [m:128*576, c:64*9, r:3*3, s:3*1]
    out 2 + 0 [y:28*3584, x:28*128, m:128*1]
    post acc
  })")};
  Target target = testing::target_row("cuda_sm80");
  target.features = {Feature::LaunchQueue, Feature::EitherLanes};
  const schedule::Schedule picked = search::pick(group.anchor, target);
  ASSERT_NE(picked.dot, nullptr) << schedule::to_text(group.anchor, picked);
  expect_clean({make_cuda_emitter()->emit(lower::lower(group, picked, target), target)});
}

} // namespace
} // namespace tilefuse::emit
