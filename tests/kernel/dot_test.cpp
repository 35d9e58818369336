// SPDX-License-Identifier: Apache-2.0
// Dot products of lanes: every row of the table, simulated on the largest and smallest elements of
// its types, adds exact products; text, and what their types must be.
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "kernel/verify.h"
#include "target/dot_ops.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel {
namespace {

constexpr int kLanes = 8;

// y[l] = 5 + the dot product of a group of x, the same for every lane, and the l-th group of w.
std::string text_of(const DotOp &op) {
  const int elems = kLanes * op.products;
  return fmt::format("kernel dot blocks 1 block_size 1 {{\n"
                     "  global const x {0}[{2}]\n  global const w {1}[{3}]\n  global y i32[{4}]\n"
                     "  y[0 .. {4}] = {5}(broadcast(x[0 .. {2}], {3}), w[0 .. {3}], i32x{4}(5))\n"
                     "}}\n",
                     to_string(op.a), to_string(op.b), op.products, elems, kLanes, op.name);
}

// The same by work-items of one sum each.
std::string items_of(const DotOp &op) {
  return fmt::format("kernel dot blocks 1 block_size {4} {{\n"
                     "  global const x {0}[{2}]\n  global const w {1}[{3}]\n  global y i32[{4}]\n"
                     "  y[lane] = {5}(x[0 .. {2}], w[lane * {2} .. {2}], 5)\n}}\n",
                     to_string(op.a), to_string(op.b), op.products, kLanes * op.products, kLanes,
                     op.name);
}

std::vector<std::byte> elements(DType type, int count, int shift) {
  const std::vector<double> values = {lowest(type),  highest(type), 1,
                                      highest(type), lowest(type),  0};
  std::vector<std::byte> bytes(at(count * static_cast<int>(size_bytes(type))));
  for (int i = 0; i < count; ++i)
    store_element(bytes.data(), type, i, values[at((i + shift) % 6)]);
  return bytes;
}

std::int32_t expected(const DotOp &op, const void *x, const void *w, int lane) {
  std::int64_t sum = 5;
  for (int k = 0; k < op.products; ++k)
    sum += traits(op.a).load_whole(x, k) * traits(op.b).load_whole(w, lane * op.products + k);
  return static_cast<std::int32_t>(sum);
}

TEST(Dot, EveryRowAddsExactProducts) {
  for (const DotOp &op : dot_ops())
    for (int turn = 0; turn < (has_rows(op) ? 0 : 12); ++turn) {
      const int shift = turn / 2;
      const Kernel kernel = parse_kernel(turn % 2 == 0 ? text_of(op) : items_of(op));
      EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
      auto x = elements(op.a, op.products, shift);
      auto w = elements(op.b, kLanes * op.products, 0);
      std::vector<std::byte> y(kLanes * sizeof(std::int32_t));
      simulate(kernel, std::vector<std::span<std::byte>>{x, w, y});
      for (int lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(load_element(y.data(), DType::I32, lane), expected(op, x.data(), w.data(), lane))
            << op.name << " lane " << lane;
    }
}

std::string error_of(const std::string &statement) {
  try {
    parse_kernel(
        "kernel k blocks 1 block_size 1 {\n  global const x i16[64]\n  global y i32[64]\n  " +
        statement + "\n}\n");
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Dot, TypesAndLanesMustFit) {
  EXPECT_EQ(error_of("y[0 .. 4] = dot2.s16.s16.s32(x[0 .. 8], x[8 .. 8], i32x4(0))"), "no error");
  for (const char *wrong : {"y[0 .. 4] = dot2.s16.s16.s32(x[0 .. 4], x[8 .. 8], i32x4(0))",
                            "y[0 .. 4] = dot2.s16.s16.s32(x[0 .. 8], i32x8(x[8 .. 8]), i32x4(0))",
                            "y[0 .. 4] = dot2.s16.s16.s32(i8x8(x[0 .. 8]), x[8 .. 8], i32x4(0))"})
    EXPECT_NE(error_of(wrong).find("of a sum of i32"), std::string::npos) << error_of(wrong);
  EXPECT_NE(error_of("y[0 .. 4] = dot2.s16.s16.s32(x[0 .. 8])").find("needs 3 arguments"),
            std::string::npos);
  EXPECT_NE(error_of("y[0 .. 6] = i32x6(broadcast(x[0 .. 4], 6))").find("a part of 6 lanes"),
            std::string::npos);
}

TEST(Dot, RowsAgreeWithTheirNames) {
  for (const DotOp &op : dot_ops()) {
    EXPECT_EQ(find_dot_op(op.name), &op);
    EXPECT_TRUE(
        op.name.starts_with(fmt::format("{}dot{}.", has_rows(op) ? "row" : "", op.products)));
    EXPECT_EQ(accumulator_type(op.a), op.sum);
    EXPECT_EQ(accumulator_type(op.b), op.sum);
  }
  EXPECT_EQ(find_dot_op("dot3"), nullptr);
}

} // namespace
} // namespace tilefuse::kernel
