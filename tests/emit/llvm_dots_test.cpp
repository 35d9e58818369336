// SPDX-License-Identifier: Apache-2.0
// Dot products as machine code: every row that this processor has, in vectors of every width, gives
// what the simulator gives.
#include <gtest/gtest.h>

#include <tuple>
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
    for (int lanes = 4; lanes <= (has_rows(*rate.op) ? 0 : target.vector_f32); lanes *= 2)
      for (const bool swapped : {false, true})
        check(*rate.op, lanes, swapped);
}

// Two groups of registers of different rows, which one kernel uses in turn.
std::string rows_of(const DotOp &op, int rows, int last, int groups) {
  const int depth = groups * op.products;
  std::string text =
      fmt::format("kernel rows blocks 1 block_size 1 {{\n"
                  "  global const x {0}[{1}]\n  global const w {2}[{3}]\n  global y i32[{4}]\n"
                  "  register filter {2}x64[1 * {5}]\n",
                  to_string(op.a), (rows + last) * depth, to_string(op.b), kSteps * groups * 64,
                  (rows + last) * 16, groups);
  std::string body;
  for (const auto &[name, count, first] :
       {std::tuple{"whole", rows, 0}, std::tuple{"rest", last, rows}}) {
    text += fmt::format("  register {0} i32x16[2 * {1}]\n  register {0}_data {2}x{3}[1 * {1}]\n",
                        name, count, to_string(op.a), depth);
    body +=
        fmt::format("  rows_zero {0}[1]\n  rows_load {0}_data[0] = x[{1}] apart {2}\n"
                    "  for i_{0} in 0..{3} {{\n    rows_load filter[0] = w[i_{0} * {4}] apart 64\n"
                    "    {5} {0}[1] += {0}_data[0] * filter[0]\n  }}\n"
                    "  rows_store y[{6}] apart 16 = {0}[1]\n",
                    name, first * depth, depth, kSteps, groups * 64, op.name, first * 16);
  }
  return text + body + "}\n";
}

void check_rows(const DotOp &op, int rows, int last, int groups) {
  const kernel::Kernel kernel = kernel::parse_kernel(rows_of(op, rows, last, groups));
  Random random(7);
  auto x = elements(random, op.a, (rows + last) * groups * op.products);
  auto w = elements(random, op.b, kSteps * groups * 64);
  std::vector<std::byte> want(at((rows + last) * 64)), got(at((rows + last) * 64));
  kernel::simulate(kernel, std::vector<std::span<std::byte>>{x, w, want});
  Compiled(kernel).run({x.data(), w.data(), got.data()});
  EXPECT_EQ(got, want) << op.name << " of " << rows << " and " << last << " rows";
}

TEST(LlvmDots, RowsOfThisProcessorAreWhatIsSimulated) {
  int checked = 0;
  for (const DotRate &rate : host_target().dots)
    for (const auto &[rows, last, groups] :
         {std::tuple{16, 5, 16}, std::tuple{14, 1, 9}, std::tuple{2, 16, 1}})
      if (has_rows(*rate.op)) {
        check_rows(*rate.op, rows, last, groups);
        ++checked;
      }
  if (checked == 0)
    GTEST_SKIP() << "this processor has no matrix unit for bytes, or no permission to use it";
  EXPECT_EQ(checked, 12);
}

TEST(LlvmDots, MoreRegistersOfRowsThanThereAreAreRefused) {
  EXPECT_THROW(Compiled(kernel::parse_kernel("kernel k blocks 1 block_size 1 {\n  global y i32[1]\n"
                                             "  register sums i32x16[9 * 16]\n  y[0] = 0\n}\n")),
               Error);
}

TEST(LlvmDots, LanesThatFillNoRegisterAreRefused) {
  const kernel::Kernel kernel =
      kernel::parse_kernel(text_of(*host_target().dots.front().op, 2, false));
  EXPECT_THROW(Compiled{kernel}, Error);
}

} // namespace
} // namespace tilefuse::emit
