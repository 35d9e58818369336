// SPDX-License-Identifier: Apache-2.0
// Dot products as machine code: every row that this processor has, in vectors of every width, gives
// what the simulator gives.
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/random.h"
#include "emit/llvm_harness.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

constexpr int kSteps = 9;

// Sums of kSteps groups: one operand broadcast, the other side by side; `swapped` turns them.
std::string text_of(const DotOp &op, int lanes, bool swapped) {
  const int elems = lanes * op.products;
  const std::string x = fmt::format("broadcast(x[{0} * i .. {0}], {1})", op.products, elems);
  const std::string w = fmt::format("w[{0} * i .. {0}]", elems);
  return fmt::format("kernel dots blocks 1 block_size 1 {{\n"
                     "  global const x {}[{}]\n  global const w {}[{}]\n  global y i32[{}]\n"
                     "  register acc i32x{}[1]\n  acc[0] = i32x{}(-7)\n"
                     "  for i in 0..{} {{ acc[0] = {}({}, {}, acc[0]) }}\n  y[0 .. {}] = acc[0]\n"
                     "}}\n",
                     to_string(swapped ? op.b : op.a), kSteps * op.products,
                     to_string(swapped ? op.a : op.b), kSteps * elems, lanes, lanes, lanes, kSteps,
                     op.name, swapped ? w : x, swapped ? x : w, lanes);
}

std::vector<std::byte> elements(Random &random, DType type, int count) {
  std::vector<std::byte> bytes(at(count * static_cast<int>(size_bytes(type))));
  for (int i = 0; i < count; ++i)
    store_element(bytes.data(), type, i, random.chance(50) ? lowest(type) : highest(type));
  return bytes;
}

void check(const DotOp &op, int lanes, bool swapped) {
  const kernel::Kernel kernel = kernel::parse_kernel(text_of(op, lanes, swapped));
  Random random(3);
  auto x = elements(random, kernel.buffers[0].type.elem, kSteps * op.products);
  auto w = elements(random, kernel.buffers[1].type.elem, kSteps * lanes * op.products);
  std::vector<std::byte> want(at(lanes * 4)), got(at(lanes * 4));
  kernel::simulate(kernel, std::vector<std::span<std::byte>>{x, w, want});
  Compiled(kernel).run({x.data(), w.data(), got.data()});
  EXPECT_EQ(got, want) << op.name << " of " << lanes << " lanes";
}

TEST(LlvmDots, EveryRowOfThisProcessorIsWhatIsSimulated) {
  const Target target = host_target();
  EXPECT_FALSE(target.dots.empty());
  for (const DotRate &rate : target.dots)
    for (int lanes = 4; lanes <= target.vector_f32; lanes *= 2)
      for (const bool swapped : {false, true})
        check(*rate.op, lanes, swapped);
}

TEST(LlvmDots, LanesThatFillNoRegisterAreRefused) {
  const kernel::Kernel kernel =
      kernel::parse_kernel(text_of(*host_target().dots.front().op, 2, false));
  EXPECT_THROW(Compiled{kernel}, Error);
}

} // namespace
} // namespace tilefuse::emit
