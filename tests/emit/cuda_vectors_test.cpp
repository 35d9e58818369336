// SPDX-License-Identifier: Apache-2.0
// Vectors whose last lanes may be missing, in CUDA C++: one that begins at a multiple of its size is
// one access, another is taken element by element.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/text/text.h"

namespace tilefuse::emit {
namespace {

// A copy of rows of 197 that lie so far apart.
Package rows(const std::string &type, int apart) {
  const Package package = make_cuda_emitter()->emit(kernel::parse_kernel(fmt::format(R"(
kernel rows blocks 4 block_size 32 {{
  global const x {0}[1600]
  global y {0}[1600]
  y[block * {1} + lane * 8 .. 8 valid 197 - lane * 8] = x[block * {1} + lane * 8 .. 8 valid 197 - lane * 8 fill 0]
}})",
                                                                                     type, apart)),
                                                    cuda_target());
  expect_clean({package});
  return package;
}

std::string body(const Package &package) {
  return package.code.substr(package.code.rfind("extern \"C\""));
}

TEST(CudaVectors, PartsOfPaddedRowsAreWhole) {
  for (const auto &[type, form] : {std::pair{"f16", "_half"}, {"bf16", "_bfloat"}, {"i16", ""}}) {
    const std::string text = body(rows(type, 200));
    EXPECT_NE(text.find(fmt::format("tf_part{}<8>(", form)), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("tf_store_part{}<8>(", form)), std::string::npos) << text;
  }
}

TEST(CudaVectors, PartsOfOtherRowsAreElements) {
  const std::string text = body(rows("f16", 197));
  EXPECT_EQ(text.find("_part"), std::string::npos) << text;
}

TEST(CudaVectors, ExclusiveOrKeepsBitsThatAreZero) {
  const auto has_wide = [](int bits) {
    const Package package = make_cuda_emitter()->emit(kernel::parse_kernel(fmt::format(R"(
kernel chunks blocks 1 block_size 32 {{
  global const x f32[256]
  global y f32[256]
  y[lane * 4 .. 4] = x[bit_xor(lane * 4, {}) .. 4]
}})",
                                                                                       bits)),
                                                      cuda_target());
    expect_clean({package});
    return body(package).find("tf_wide<4>(") != std::string::npos;
  };
  EXPECT_TRUE(has_wide(8));
  EXPECT_FALSE(has_wide(2));
}

// A vector or an element of half type that is read under a condition is converted behind it, so that
// no predicate lasts until the read has arrived.
TEST(CudaVectors, HalfTypesAreConvertedBehindTheirCondition) {
  const auto text = [](const std::string &type, const std::string &read) {
    const Package package = make_cuda_emitter()->emit(kernel::parse_kernel(fmt::format(R"(
kernel edge blocks 1 block_size 32 {{
  global const x {0}[512]
  global y f32[512]
  {1}
}})",
                                                                                       type, read)),
                                                      cuda_target());
    expect_clean({package});
    return body(package);
  };
  const std::string vector = "x[lane * 8 .. 8 valid select(lane < 5, 8, 0) fill 0]";
  const std::string element = "x[lane valid select(lane < 5, 1, 0) fill -inf]";
  for (const auto &[type, form] : {std::pair{"f16", "_half"}, {"bf16", "_bfloat"}}) {
    const std::string eight = text(type, fmt::format("y[lane * 8 .. 8] = f32x8({})", vector));
    EXPECT_NE(eight.find(fmt::format("tf_wide_if{}<8>(b0 + (lane * 8), lane < 5", form)),
              std::string::npos)
        << eight;
    const std::string one = text(type, fmt::format("y[lane] = f32({})", element));
    EXPECT_NE(one.find(fmt::format("tf_one_if{}(b0 + (lane), ", form)), std::string::npos) << one;
  }
  EXPECT_EQ(text("f32", "y[lane * 8 .. 8] = " + vector).find("_if"), std::string::npos);
}

} // namespace
} // namespace tilefuse::emit
