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

} // namespace
} // namespace tilefuse::emit
