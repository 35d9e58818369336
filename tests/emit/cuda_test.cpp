// SPDX-License-Identifier: Apache-2.0
// CUDA C++: the exact source of a small kernel, and everything generated compiles by NVRTC for each
// generation without a warning and without spilling registers. No GPU is needed; where NVRTC is
// absent the tests say so, and in CI that is a failure.
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/text/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/pooled_group.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/algorithms.h"
#include "search/forms/core_forms.h"
#include "search/groups.h"
#include "search/network/launches.h"
#include "search/pick.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

Package emitted(const std::string &text) {
  return make_cuda_emitter()->emit(kernel::parse_kernel(text), cuda_target());
}

TEST(Cuda, TextOfWorkItemsWithSharedMemory) {
  const Package package = emitted(R"(
kernel tile blocks 3 block_size 32 {
  global const b0 f32[96]
  global b1 f16[96]
  local s0 f32[32]
  s0[lane] = b0[block * 32 + lane]
  barrier
  b1[block * 32 + lane] = f16(max(s0[31 - lane], f32(0.5)))
})");
  EXPECT_EQ(package.format, CodeFormat::CudaSource);
  const std::string functions = package.code.substr(package.code.rfind("extern \"C\""));
  EXPECT_EQ(
      functions,
      R"(extern "C" __global__ void __launch_bounds__(32, 1) k_tile(const uchar* m0, const ulong o0, uchar* m1, const ulong o1) {
  tf_await_earlier();
  tf_let_later();
  const float* __restrict__ b0 = (const float*)(m0 + o0);
  ushort* __restrict__ b1 = (ushort*)(m1 + o1);
  __shared__ __align__(128) float s2[32];
  const int block = (int)blockIdx.x;
  const int lane = (int)threadIdx.x;
  s2[lane] = b0[block * 32 + lane];
  __syncthreads();
  b1[block * 32 + lane] = tf_half_bits(tf_max_f32(s2[31 - lane], 0.5f));
}
)");
  expect_clean({package});
}

// What an operation says is not said at the beginning too.
TEST(Cuda, EarlierKernelsAreAwaitedOnce) {
  const Package package = emitted(R"(
kernel late blocks 3 block_size 32 {
  global fixed b0 f32[96]
  global b1 f32[96]
  register r f32[1]
  r[0] = b0[block * 32 + lane]
  await_earlier
  b1[block * 32 + lane] = r[0]
})");
  const std::string functions = package.code.substr(package.code.rfind("extern \"C\""));
  const std::size_t awaits = functions.find("tf_await_earlier();");
  EXPECT_LT(functions.find("= b0["), awaits);
  EXPECT_LT(awaits, functions.find("b1[block"));
  EXPECT_EQ(functions.find("tf_await_earlier();", awaits + 1), std::string::npos);
  expect_clean({package});
}

// out = op(in, in, …), or nothing where the kernel level has no such operation.
std::optional<kernel::Kernel> one_operation(ScalarOp op, DType type, int lanes) {
  const DType held = type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
  const bool is_select = op == ScalarOp::Select;
  std::vector<kernel::Type> types(static_cast<std::size_t>(row(op).arity), {held, lanes});
  if (is_select)
    types[0].elem = DType::Bool;
  if (!kernel::scalar_rule(op, types).empty())
    return std::nullopt;
  kernel::Kernel k;
  kernel::Builder b(k);
  const auto in = b.buffer({"in", kernel::Space::Global, {type, 1}, 16});
  const auto out = b.buffer({"out", kernel::Space::Global, {type, 1}, 16, true});
  k.name = fmt::format("{}_{}_{}", row(op).name, to_string(type), lanes);
  k.blocks = k.block_size = 2;
  const kernel::ExprRef value = b.cast(b.load(in, b.lane(), lanes), held);
  std::vector<kernel::ExprRef> args(types.size(), value);
  if (is_select)
    args[0] = b.cast(value, DType::Bool);
  k.body = b.store(out, b.lane(), b.cast(b.scalar(op, args), type));
  return k;
}

// Nothing where C has no such operation: elementary functions of whole numbers.
std::optional<Package> emitted_operation(ScalarOp op, DType type, int lanes) {
  const auto k = one_operation(op, type, lanes);
  if (!k)
    return std::nullopt;
  try {
    return make_cuda_emitter()->emit(*k, cuda_target());
  } catch (const Error &error) {
    EXPECT_FALSE(is_float(type)) << error.message();
    return std::nullopt;
  }
}

// Of every type of two bytes.
TEST(Cuda, AlignedVectorsAreStoredWhole) {
  for (const auto &[type, store] :
       {std::pair("f16", "tf_store_wide_half<8>"), {"bf16", "tf_store_wide_bfloat<8>"}}) {
    const Package package = emitted(fmt::format(R"(
kernel copy blocks 3 block_size 32 {{
  global const b0 f32[768]
  global b1 {0}[768]
  b1[block * 256 + lane * 8 .. 8] = {0}x8(b0[block * 256 + lane * 8 .. 8])
}}
)",
                                                type));
    EXPECT_NE(package.code.find(store), std::string::npos) << package.code;
  }
}

TEST(Cuda, EveryScalarOperationCompiles) {
  std::vector<Package> packages;
  for (const int lanes : {1, 4})
    for (const DType type :
         {DType::Bool, DType::I8, DType::U8, DType::I16, DType::I32, DType::I64, DType::F16,
          DType::BF16, DType::F32, DType::F64, DType::U16, DType::U32, DType::U64})
      for (int op = 0; op <= static_cast<int>(ScalarOp::Select); ++op)
        if (const auto package = emitted_operation(static_cast<ScalarOp>(op), type, lanes))
          packages.push_back(*package);
  EXPECT_GT(packages.size(), 200u);
  Package all = packages.front();
  for (std::size_t i = 1; i < packages.size(); ++i)
    all.code += packages[i].code;
  expect_clean({all});
}

Target matrix_target() {
  Target target = cuda_target();
  target.max_group = 1024;
  target.local_bytes = 160 << 10;
  target.warp = 32;
  target.compute_units = 108;
  return target;
}

// Gradients by the input (the filter lies turned) and by the filter (both sides do), strided.
constexpr std::array kGradients = {R"(nest conv {{
      index n 8, y 14, x 14, c 256 | m 256, r 2, s 2
      slot 0 {0} 401408, 1 {0} 589824, 2 {0} 1605632
      acc f32 = sum mul
      in 0 + 0 [n:8*50176, y - r + 1:14?*3584, x - s + 1:14?*256, m:256*1]
      in 1 + 0 [m:256*2304, 2*r:3*768, 2*s:3*256, c:256*1]
      out 2 + 0 [n:8*200704, 2*y + 1:28*7168, 2*x + 1:28*256, c:256*1]
      post {0}(acc)
    }})",
                                   R"(nest gemm {{
      index m 256, r 3, s 3, c 256 | n 8, y 14, x 14
      slot 0 {0} 401408, 1 {0} 1605632, 2 f32 589824
      acc f32 = sum mul
      in 0 + 0 [n:8*50176, y:14*3584, x:14*256, m:256*1]
      in 1 + 0 [n:8*200704, r + 2*y - 1:28?*7168, s + 2*x - 1:28?*256, c:256*1]
      out 2 + 0 [m:256*2304, r:3*768, s:3*256, c:256*1]
      post acc
    }})"};

TEST(Cuda, MatrixInstructionsOfGradientsCompile) {
  const Target target = matrix_target();
  std::vector<Package> packages;
  for (const char *type : {"f16", "bf16"})
    for (const char *text : kGradients) {
      const poly::Group group{nest::parse_nest(fmt::format(fmt::runtime(text), type))};
      const auto all = search::core_schedules(group.anchor, target, false);
      ASSERT_FALSE(all.empty());
      for (const std::size_t i : testing::sampled(testing::steps(all.size(), 31), packages.size()))
        packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
    }
  expect_clean(packages);
}

// Every type, the largest and smaller tiles, shared memory given by the launch.
TEST(Cuda, MatrixInstructionsCompile) {
  const Target target = matrix_target();
  std::vector<Package> packages;
  for (const auto &[in, acc] :
       {std::pair("f16", "f32"), {"bf16", "f32"}, {"i8", "i32"}, {"f32", "f32"}}) {
    const poly::Group group{nest::parse_nest(fmt::format(R"(nest conv {{
      index n 8, y 14, x 14, m 256 | r 3, s 3, c 256
      slot 0 {0} 401408, 1 {0} 589824, 2 {1} 401408
      acc {1} = sum mul
      in 0 + 0 [n:8*50176, y + r - 1:14?*3584, x + s - 1:14?*256, c:256*1]
      in 1 + 0 const [m:256*2304, r:3*768, s:3*256, c:256*1]
      out 2 + 0 [n:8*50176, y:14*3584, x:14*256, m:256*1]
      post max(acc, 0)
    }})",
                                                         in, acc))};
    const auto all = search::core_schedules(group.anchor, target, std::string_view(in) == "f32");
    ASSERT_FALSE(all.empty());
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 7), packages.size())) {
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
    }
  }
  expect_clean(packages);
}

// Every type, and every third tile, with registers dealt to a producer and to consumers.
TEST(Cuda, WgmmaCompiles) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const auto &[in, out, acc] : {std::tuple("f16", "f16", "f32"),
                                     {"bf16", "bf16", "f32"},
                                     {"i8", "i32", "i32"},
                                     {"f32", "f32", "f32"}}) {
    const poly::Group group{nest::parse_nest(fmt::format(R"(nest conv {{
      index n 32, y 14, x 14, m 256 | r 3, s 3, c 256
      slot 0 {0} 1605632, 1 {0} 589824, 2 {1} 1605632, 3 {1} 1605632
      acc {2} = sum mul
      in 0 + 0 [n:32*50176, y + r - 1:14?*3584, x + s - 1:14?*256, c:256*1]
      in 1 + 0 const [m:256*2304, r:3*768, s:3*256, c:256*1]
      out 2 + 0 [n:32*50176, y:14*3584, x:14*256, m:256*1]
      extra 3 + 0 [n:32*50176, y:14*3584, x:14*256, m:256*1]
      post max(acc + {2}($0), 0)
    }})",
                                                         in, out, acc))};
    const auto all = search::wgmma_schedules(group.anchor, target, std::string_view(in) == "f32");
    ASSERT_GE(all.size(), 10u);
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 3, packages.size())))
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
  }
  expect_clean(packages, std::array{"sm_90a"});
}

TEST(Cuda, WgmmaOfBlocksCompiles) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const int stride : {1, 2}) {
    const poly::Group group = model::nchw32(8, 8, 14, 8, 3, stride);
    const auto all = search::wgmma_schedules(group.anchor, target, false);
    ASSERT_GE(all.size(), 10u);
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 3), packages.size()))
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
  }
  expect_clean(packages, std::array{"sm_90a"});
}

// Channels outermost, and an odd number of them: work-items load what they store in the ring.
TEST(Cuda, GatheredDataCompiles) {
  const Target target = matrix_target();
  std::vector<Package> packages;
  for (const auto &[in, acc, data] :
       {std::tuple("f16", "f32", "n:8*100352, c:128*784, y + r - 1:28?*28, x + s - 1:28?*1"),
        {"bf16", "f32", "n:8*101136, y + r - 1:28?*3612, x + s - 1:28?*129, c:128*1"},
        {"i8", "i32", "n:8*100352, c:128*784, y + r - 1:28?*28, x + s - 1:28?*1"},
        {"f32", "f32", "n:8*100352, c:128*784, y + r - 1:28?*28, x + s - 1:28?*1"}}) {
    const poly::Group group{nest::parse_nest(fmt::format(R"(nest conv {{
      index n 8, y 28, x 28, m 256 | c 128, r 3, s 3
      slot 0 {0} 809088, 1 {0} 294912, 2 {1} 1605632
      acc {1} = sum mul
      in 0 + 0 [{2}]
      in 1 + 0 const [m:256*1152, c:128*9, r:3*3, s:3*1]
      out 2 + 0 [n:8*200704, y:28*7168, x:28*256, m:256*1]
      post max(acc, 0)
    }})",
                                                         in, acc, data))};
    const auto all = search::core_schedules(group.anchor, target, std::string_view(in) == "f32");
    ASSERT_FALSE(all.empty());
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 7), packages.size()))
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
  }
  expect_clean(packages);
}

// Rows of both factors, straight and turned: words of two elements, shifted.
TEST(Cuda, RowsOfOddLengthCompile) {
  const Target target = matrix_target();
  std::vector<Package> packages;
  for (const auto &[type, left, right] :
       {std::tuple("f16", "m:1009*1009, k:1009*1", "k:1009*1009, n:1009*1"),
        {"bf16", "k:1009*1009, m:1009*1", "k:1009*1009, n:1009*1"},
        {"f16", "m:1009*1009, k:1009*1", "n:1009*1009, k:1009*1"}}) {
    const poly::Group group{nest::parse_nest(fmt::format(R"(nest gemm {{
      index m 1009, n 1009 | k 1009
      slot 0 {0} 1018081, 1 {0} 1018081, 2 {0} 1018081
      acc f32 = sum mul
      in 0 + 0 [{1}]
      in 1 + 0 [{2}]
      out 2 + 0 [m:1009*1009, n:1009*1]
      post {0}(acc)
    }})",
                                                         type, left, right))};
    const auto all = search::core_schedules(group.anchor, target, false);
    ASSERT_FALSE(all.empty());
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 7), packages.size()))
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
    EXPECT_NE(packages.back().code.find("tf_words<4>"), std::string::npos);
  }
  expect_clean(packages);
}

// A product in the block that sums its pixels.
TEST(Cuda, PooledProductsCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const model::Pooled &problem :
       {model::Pooled{.n = 32, .size = 7, .c = 512, .m = 2048, .taps = 1},
        model::Pooled{.n = 8, .size = 8, .c = 128, .m = 320}}) {
    const poly::Group group = model::pooled_group(problem);
    const schedule::Schedule picked = search::pick(group, target);
    EXPECT_TRUE(has_core(picked.producers[0]));
    packages.push_back(make_cuda_emitter()->emit(lower::lower(group, picked, target), target));
  }
  expect_clean(packages, std::array{"sm_90a"});
}

TEST(Cuda, WgmmaOfGradientsCompiles) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const std::string_view type : {"f16", "bf16", "f32"})
    for (const char *text : kGradients) {
      const poly::Group group{nest::parse_nest(fmt::format(fmt::runtime(text), type))};
      const auto all = search::wgmma_schedules(group.anchor, target, type == "f32");
      ASSERT_GE(all.size(), 10u);
      for (const std::size_t i : testing::sampled(testing::steps(all.size(), 4, packages.size())))
        packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
    }
  expect_clean(packages, std::array{"sm_90a"});
}

// Runs of taps that overlap, summed in parts; blocks of pixels.
constexpr const char *kFirstLayers[] = {R"(nest gemm {{
      index np 128, m 64, r 4, run 64 | n 2, y 112, x 112
      slot 0 {0} 205520896, 1 {0} 54640640, 2 f32 2097152
      acc f32 = sum mul
      in 0 + 0 [np:128*1605632, n:2*802816, y:112*7168, x:112*64, m:64*1]
      in 1 + 0 [np:128*426880, n:2*213440, y + r:115*1856, run + 16*x:1856*1]
      out 2 + 0 [np:128*16384, m:64*256, r:4*64, run:64*1]
      post acc
    }})",
                                        R"(nest conv {{
      index n 256, q0 56, q1 28, k 96 | u0 5, u1 7, m 64
      slot 0 {0} 205520896, 1 {0} 215040, 2 {0} 38535168
      acc f32 = sum mul
      in 0 + 0 [n:256*802816, 2*q0 + u0 - 1:112?*7168, 4*q1 + u1 - 1:112?*64, m:64*1]
      in 1 + 0 [k:96*2240, u0:5*448, u1:7*64, m:64*1]
      out 2 + 0 [n:256*150528, q0:56*2688, q1:28*96, k:96*1]
      post {0}(acc)
    }})"};

TEST(Cuda, GradientsOfFirstLayersCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const char *type : {"f16", "bf16"})
    for (const char *text : kFirstLayers) {
      const poly::Group group{nest::parse_nest(fmt::format(fmt::runtime(text), type))};
      const auto all = search::wgmma_schedules(group.anchor, target, false);
      ASSERT_FALSE(all.empty());
      for (const std::size_t i : testing::sampled(testing::steps(all.size(), 3, packages.size())))
        packages.push_back(make_cuda_emitter()->emit(lower::lower(group, all[i], target), target));
    }
  expect_clean(packages, std::array{"sm_90a"});
}

// A strided input gradient in one launch: zeros by the producer's idle warps, within its registers.
TEST(Cuda, KernelsSideBySideCompile) {
  const Target target = hopper_target();
  std::vector<Package> packages;
  for (const model::GradientConv &problem :
       {model::GradientConv{
            .n = 32, .h = 28, .w = 28, .c = 256, .k = 512, .r = 1, .s = 1, .stride = 2, .pad = 0},
        model::GradientConv{.n = 32, .h = 27, .w = 28, .c = 128, .k = 128, .stride = 2}}) {
    std::vector<launch::Part> kernels;
    for (poly::PlacedGroup &placed : model::placed_gradients(problem, model::By::Input)) {
      const auto all = search::wgmma_schedules(placed.group.anchor, target, false);
      const auto chosen = std::find_if(all.begin(), all.end(), [](const auto &schedule) {
        return group_size(schedule) == 3 * schedule::kGroupItems;
      });
      schedule::Schedule schedule =
          chosen == all.end() ? search::pick(placed.group.anchor, target) : *chosen;
      kernels.push_back({std::move(placed), std::move(schedule)});
    }
    const auto launches =
        search::choose_launches(std::move(kernels), target, search::pick_of_size(target));
    ASSERT_EQ(launches.size(), 1U);
    packages.push_back(make_cuda_emitter()->emit(lower::lower_launch(launches[0], target), target));
  }
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
