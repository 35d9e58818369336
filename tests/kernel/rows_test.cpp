// SPDX-License-Identifier: Apache-2.0
// Registers of rows: dot products of every row of the table, simulated on the largest and smallest
// elements of their types, add exact products; text, and what the registers must be.
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "target/dot_ops.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel {
namespace {

struct Shape {
  int rows = 16, groups = 16, lanes = 16;
};

constexpr int kGap = 3; // elements between rows in memory

// y = x * w + x * w, rows of x and of y apart in memory.
std::string text_of(const DotOp &op, const Shape &shape) {
  const int depth = shape.groups * op.products;
  const int wide = shape.lanes * op.products;
  return fmt::format("kernel rows blocks 1 block_size 1 {{\n"
                     "  global const x {0}[{2}]\n  global const w {1}[{3}]\n  global y i32[{4}]\n"
                     "  local s i32[{4}]\n"
                     "  register sums i32x{5}[2 * {6}]\n  register data {0}x{7}[1 * {6}]\n"
                     "  register filter {1}x{8}[1 * {9}]\n"
                     "  rows_zero sums[1]\n"
                     "  rows_load data[0] = x[0] apart {10}\n"
                     "  rows_load filter[0] = w[0] apart {8}\n"
                     "  for i in 0..2 {{ {11} sums[1] += data[0] * filter[0] }}\n"
                     "  rows_store s[0] apart {5} = sums[1]\n"
                     "  for j in 0..{4} {{ y[j] = s[j] }}\n}}\n",
                     to_string(op.a), to_string(op.b), shape.rows * (depth + kGap),
                     shape.groups * wide, shape.rows * shape.lanes, shape.lanes, shape.rows, depth,
                     wide, shape.groups, depth + kGap, op.name);
}

std::vector<std::byte> elements(DType type, int count) {
  const std::vector<double> values = {lowest(type), highest(type), 1, highest(type),
                                      lowest(type), highest(type), 3};
  std::vector<std::byte> bytes(at(count));
  for (int i = 0; i < count; ++i)
    store_element(bytes.data(), type, i, values[at(i % 7)]);
  return bytes;
}

std::int32_t expected(const DotOp &op, const Shape &shape, const void *x, const void *w, int row,
                      int lane) {
  std::int64_t sum = 0;
  const int depth = shape.groups * op.products;
  for (int k = 0; k < depth; ++k)
    sum += traits(op.a).load_whole(x, row * (depth + kGap) + k) *
           traits(op.b).load_whole(w, (k / op.products * shape.lanes + lane) * op.products +
                                          k % op.products);
  return static_cast<std::int32_t>(2 * sum);
}

TEST(Rows, EveryDotProductAddsExactProducts) {
  int checked = 0;
  for (const DotOp &op : dot_ops())
    for (const Shape &shape : has_rows(op)
                                  ? std::vector<Shape>{{}, {1, 3, 8}, {7, 16, 16}, {14, 9, 4}}
                                  : std::vector<Shape>{}) {
      const Kernel kernel = parse_kernel(text_of(op, shape));
      EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
      auto x = elements(op.a, shape.rows * (shape.groups * op.products + kGap));
      auto w = elements(op.b, shape.groups * shape.lanes * op.products);
      std::vector<std::byte> y(at(shape.rows * shape.lanes) * sizeof(std::int32_t));
      simulate(kernel, std::vector<std::span<std::byte>>{x, w, y});
      for (int i = 0; i < shape.rows * shape.lanes; ++i)
        EXPECT_EQ(load_element(y.data(), DType::I32, i),
                  expected(op, shape, x.data(), w.data(), i / shape.lanes, i % shape.lanes))
            << op.name << " element " << i;
      ++checked;
    }
  EXPECT_EQ(checked, 16);
}

std::string error_of(const std::string &statements) {
  try {
    const Kernel kernel =
        parse_kernel("kernel k blocks 1 block_size 1 {\n  global const x u8[1024]\n"
                     "  global const w i8[1024]\n  global y i32[256]\n"
                     "  register sums i32x16[1 * 16]\n  register data u8x64[1 * 16]\n"
                     "  register filter i8x64[1 * 16]\n  register narrow i8x64[1 * 9]\n"
                     "  register plain i32x16[1]\n  " +
                     statements + "\n}\n");
    std::vector<std::byte> x(1024), w(1024), y(1024);
    simulate(kernel, std::vector<std::span<std::byte>>{x, w, y});
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Rows, WhatIsReadWasWrittenAndLiesInMemory) {
  const std::string loads = "rows_load data[0] = x[0] apart 64\n"
                            "  rows_load filter[0] = w[0] apart 64\n";
  const std::string end = "\n  rows_store y[0] apart 16 = sums[0]";
  const std::string dot = "rowdot4.u8.s8.s32 sums[0] += data[0] * filter[0]";
  EXPECT_EQ(error_of("rows_zero sums[0]\n" + loads + dot + end), "no error");
  EXPECT_NE(error_of(loads + dot + end).find("sums[0]"), std::string::npos);
  EXPECT_NE(error_of("rows_zero sums[0]\n" + dot + end).find("data[0]"), std::string::npos);
  EXPECT_NE(error_of("rows_load data[0] = x[1] apart 64").find("out of bounds"), std::string::npos);
  EXPECT_NE(
      error_of("rows_zero sums[0]\n  rows_store y[1] apart 16 = sums[0]").find("out of bounds"),
      std::string::npos);
}

TEST(Rows, RegistersMustFit) {
  for (const auto &[statement, what] : std::vector<std::pair<std::string, std::string>>{
           {"rows_zero plain[0]", "registers of rows"},
           {"sums[0] = i32x16(0)", "no access reaches"},
           {"rows_load sums[0] = x[0] apart 64", "memory of their type"},
           {"rowdot4.u8.s8.s32 sums[0] += data[0] * narrow[0]", "needs up to 16 rows"},
           {"rowdot4.s8.s8.s32 sums[0] += data[0] * filter[0]", "needs up to 16 rows"},
           {"rowdot5 sums[0] += data[0] * filter[0]", "no dot product"}})
    EXPECT_NE(error_of(statement).find(what), std::string::npos) << error_of(statement);
}

} // namespace
} // namespace tilefuse::kernel
