// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"

namespace tilefuse::kernel {
namespace {

template <class T> std::span<std::byte> bytes(std::vector<T> &values) {
  return std::as_writable_bytes(std::span(values));
}

std::vector<float> ramp(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

// y after a kernel of this body: x is 0, 1, 2, …
std::vector<float> run(std::string_view stmts, int blocks = 1, int block_size = 1,
                       std::string_view extra = "") {
  const std::string text = "kernel k blocks " + std::to_string(blocks) + " block_size " +
                           std::to_string(block_size) +
                           " {\nglobal const x f32[16]\nglobal y f32[16]\n" + std::string(extra) +
                           std::string(stmts) + "\n}";
  std::vector<float> x = ramp(16);
  std::vector<float> y(16, -1.0F);
  const std::vector args = {bytes(x), bytes(y)};
  simulate(parse_kernel(text), args);
  return y;
}

std::string fault(std::string_view stmts, int block_size = 1, std::string_view extra = "") {
  try {
    run(stmts, 2, block_size, extra);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Limit);
    return error.what();
  }
  return "no error";
}

TEST(Simulate, MatrixProductWithVectors) {
  const Kernel kernel = parse_kernel(R"(kernel mm blocks 3 block_size 1 {
    global const a f32[15]
    global const w f32[40]
    global c f32[24]
    register acc f32x8[1]
    acc[0] = f32x8(0)
    for k in 0..5 { acc[0] = fma(broadcast(a[block * 5 + k], 8), w[k * 8 .. 8], acc[0]) }
    c[block * 8 .. 8] = max(acc[0], f32x8(100))
  })");
  std::vector<float> a = ramp(15);
  std::vector<float> w = ramp(40);
  std::vector<float> c(24);
  const std::vector args = {bytes(a), bytes(w), bytes(c)};
  simulate(kernel, args);
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t n = 0; n < 8; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < 5; ++k)
        sum += a[m * 5 + k] * w[k * 8 + n];
      EXPECT_EQ(c[m * 8 + n], std::max(sum, 100.0F));
    }
  }
}

TEST(Simulate, WorkItemsShareLocalMemory) {
  const std::vector<float> y =
      run("s[lane] = x[block * 8 + lane] barrier y[block * 8 + lane] = s[7 - lane]", 2, 8,
          "local s f32[8]\n");
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(y[i], static_cast<float>(i / 8 * 8 + 7 - i % 8));
}

TEST(Simulate, MasksAndLoops) {
  EXPECT_EQ(
      run("if lane < 2 { y[lane] = f32(1) } else { if lane == 3 { y[lane] = f32(2) } }", 1, 4)[1],
      1);
  EXPECT_EQ(
      run("if lane < 2 { y[lane] = f32(1) } else { if lane == 3 { y[lane] = f32(2) } }", 1, 4)[2],
      -1);
  EXPECT_EQ(
      run("if lane < 2 { y[lane] = f32(1) } else { if lane == 3 { y[lane] = f32(2) } }", 1, 4)[3],
      2);
  // Trip counts that differ by work-item.
  const std::vector<float> y =
      run("r[0] = f32(0) for i in 0..lane + 1 step 2 { r[0] = r[0] + x[i] } y[lane] = r[0]", 1, 5,
          "register r f32[1]\n");
  EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 5)), (std::vector<float>{0, 0, 2, 2, 6}));
}

TEST(Simulate, PredicatedLanesTouchNothing) {
  const std::vector<float> y = run("y[12 .. 8 valid 4] = x[14 .. 8 valid 2 fill 9]");
  EXPECT_EQ((std::vector<float>(y.begin() + 11, y.end())), (std::vector<float>{-1, 14, 15, 9, 9}));
  const std::vector<float> strided = run("y[1 .. 4 : 3] = x[15 .. 4 : -5]");
  EXPECT_EQ(strided[1], 15);
  EXPECT_EQ(strided[4], 10);
  EXPECT_EQ(strided[10], 0);
  EXPECT_EQ(strided[2], -1);
}

TEST(Simulate, FloatsRoundAfterEachOperation) {
  const float third = 1.0F / 3.0F;
  EXPECT_EQ(run("y[0] = x[1] / x[3] + x[1]")[0], third + 1.0F);
  EXPECT_EQ(run("y[0] = fma(x[1] / x[3], x[3], neg(x[1]))")[0], std::fma(third, 3.0F, -1.0F));
  EXPECT_EQ(run("y[0] = f32(f64(x[1]) / f64(x[3]) * f64(x[3]) - f64(x[1]))")[0], 0);
}

TEST(Simulate, StorageTypesConvert) {
  const Kernel kernel = parse_kernel(R"(kernel k blocks 4 block_size 1 {
    global const h f16[4]
    global i i8[4]
    global l i64[4]
    i[block] = i8(f32(h[block]) * f32(2))
    l[block] = i64(i32(f32(h[block]) * f32(1.5))) * i64(3)
  })");
  std::vector<std::uint16_t> h = {0x3C00, 0xC000, 0x3800, 0x4900}; // 1, -2, 0.5, 10
  std::vector<std::int8_t> i(4);
  std::vector<std::int64_t> l(4);
  const std::vector args = {bytes(h), bytes(i), bytes(l)};
  simulate(kernel, args);
  EXPECT_EQ(i, (std::vector<std::int8_t>{2, -4, 1, 20}));
  EXPECT_EQ(l, (std::vector<std::int64_t>{3, -9, 0, 45}));
}

TEST(Simulate, FaultsNameStatementBlockLaneAndAddress) {
  EXPECT_EQ(fault("y[block * 16] = x[0]"), "y[block * 16] = x[0]: error: kernel k, block 1, lane "
                                           "0: y[16] is out of bounds: y has 16 elements");
  EXPECT_EQ(fault("y[0] = x[lane * 8 - block]", 3),
            "y[0] = x[lane * 8 - block]: error: kernel k, block 0, lane 2: x[16] is out of bounds: "
            "x has 16 elements");
  EXPECT_EQ(fault("y[0 .. 4] = x[14 - block .. 4]").substr(0, 30),
            "y[0 .. 4] = x[14 - block .. 4]");
  EXPECT_EQ(
      fault("y[lane] = s[lane]", 2, "local s f32[4]\n"),
      "y[lane] = s[lane]: error: kernel k, block 0, lane 0: s[0] is read before it is written");
  EXPECT_EQ(fault("if block < 1 { r[1] = f32(0) } y[0] = r[1]", 1, "register r f32[2]\n"),
            "y[0] = r[1]: error: kernel k, block 1, lane 0: r[1] is read before it is written");
  EXPECT_EQ(
      fault("if lane < 3 { barrier }", 4),
      "barrier: error: kernel k, block 0, lane 3: does not reach a barrier that others reach");
  EXPECT_EQ(
      fault("for i in 0..lane { barrier }", 2),
      "barrier: error: kernel k, block 0, lane 0: does not reach a barrier that others reach");
  EXPECT_EQ(fault("y[7 / block] = x[0]"),
            "y[7 / block] = x[0]: error: kernel k, block 0, lane 0: an integer division by zero");
}

TEST(Simulate, BarriersUnderAUniformConditionPass) {
  EXPECT_EQ(fault("if block < 1 { barrier }", 4), "no error");
}

TEST(Simulate, RacesAreFaults) {
  const std::string_view local = "local s f32[4]\n";
  EXPECT_NE(fault("s[lane] = x[lane] y[lane] = s[3 - lane]", 4, local)
                .find("s[3] is read with no barrier after the write of lane 3"),
            std::string::npos);
  EXPECT_NE(fault("s[0] = x[lane]", 2, local)
                .find("s[0] is written with no barrier after the write of lane 0"),
            std::string::npos);
  EXPECT_NE(fault("s[lane] = x[lane] barrier y[lane] = s[0] s[lane] = x[0]", 4, local)
                .find("s[0] is written with no barrier after the read of several lanes"),
            std::string::npos);
  EXPECT_EQ(
      fault("s[lane] = x[lane] let a = s[lane] s[lane] = a barrier y[block * 4 + lane] = s[0]", 4,
            local),
      "no error");
}

TEST(Simulate, ArgumentsHaveToFit) {
  const Kernel kernel = parse_kernel("kernel k blocks 1 block_size 1 { global y f32[4] }");
  std::vector<float> small(3);
  const std::vector args = {bytes(small)};
  EXPECT_THROW(simulate(kernel, args), Error);
  EXPECT_THROW(simulate(kernel, {}), Error);
}

TEST(Simulate, AbsurdScratchIsAnError) {
  const Kernel kernel =
      parse_kernel("kernel k blocks 1 block_size 65536 { register r f32x64[1099511627776] }");
  EXPECT_THROW(simulate(kernel, {}), Error);
}

} // namespace
} // namespace tilefuse::kernel
