// SPDX-License-Identifier: Apache-2.0
// Bytes in CUDA C++: a value that is rounded, held within whole bounds and converted to bytes is one
// conversion, which rounds and saturates two at a time; maxima and minima are of four at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/text/text.h"

namespace tilefuse::emit {
namespace {

// A kernel that stores `value`, of 8 numbers x, as bytes of `type`.
Package stored(const std::string &type, const std::string &value, const Target &target) {
  return make_cuda_emitter()->emit(kernel::parse_kernel(fmt::format(R"(
kernel round blocks 1 block_size 32 {{
  global const x f32[256]
  global y {0}[256]
  y[lane * 8 .. 8] = {0}x8({1})
}})",
                                                                    type, value)),
                                   target);
}

std::string text_of(const std::string &type, const std::string &value) {
  const Package package = stored(type, value, cuda_target());
  expect_clean({package});
  const std::size_t at = package.code.find("b1 + ", package.code.rfind("extern \"C\""));
  return package.code.substr(at, package.code.find(";\n", at) - at);
}

constexpr const char *kBounded = "max(min(round(x[lane * 8 .. 8]), f32x8({})), f32x8({}))";

TEST(CudaRound, BoundsOfTheTypeAreSaturation) {
  EXPECT_EQ(text_of("i8", fmt::format(kBounded, 127, -128)),
            "b1 + (lane * 8), tf_rounded<char>(tf_wide<8>(b0 + (lane * 8))))");
  EXPECT_EQ(text_of("u8", fmt::format(kBounded, 255, 0)),
            "b1 + (lane * 8), tf_rounded<uchar>(tf_wide<8>(b0 + (lane * 8))))");
}

TEST(CudaRound, OtherBoundsComeBeforeRounding) {
  EXPECT_EQ(text_of("i8", fmt::format(kBounded, 127, 0)),
            "b1 + (lane * 8), tf_rounded<char>(tf_no_less(tf_wide<8>(b0 + (lane * 8)), 0.0f)))");
  EXPECT_EQ(text_of("i8", fmt::format(kBounded, 100, -5)),
            "b1 + (lane * 8), tf_rounded<char>(tf_no_more(tf_no_less(tf_wide<8>(b0 + (lane * 8)), "
            "-5.0f), 100.0f)))");
}

// Of crossed bounds the outer one holds.
TEST(CudaRound, CrossedBoundsAreOneNumber) {
  EXPECT_EQ(text_of("i8", fmt::format(kBounded, 3, 7)),
            "b1 + (lane * 8), tf_rounded<char>(tf_no_more(tf_no_less(tf_wide<8>(b0 + (lane * 8)), "
            "7.0f), 7.0f)))");
}

TEST(CudaRound, OtherValuesAreConvertedStepByStep) {
  for (const char *value :
       {"max(round(x[lane * 8 .. 8]), f32x8(0.5))", "max(f32x8(0), round(x[lane * 8 .. 8]))",
        "max(x[lane * 8 .. 8], f32x8(0))", "round(x[lane * 8 .. 8]) + f32x8(1)"})
    EXPECT_EQ(text_of("i8", value).find("tf_rounded"), std::string::npos) << value;
  Target old = cuda_target();
  old.features = {};
  EXPECT_EQ(stored("i8", "round(x[lane * 8 .. 8])", old).code.find("tf_rounded<char>(tf_wide"),
            std::string::npos);
}

TEST(CudaRound, MaximaOfBytesAreOfWords) {
  for (const char *type : {"u8", "i8"})
    for (const char *op : {"max", "min"}) {
      const Package package = make_cuda_emitter()->emit(kernel::parse_kernel(fmt::format(R"(
kernel extremes blocks 1 block_size 32 {{
  global const x {0}[512]
  global y {0}[256]
  y[lane * 8 .. 8] = {1}(x[lane * 8 .. 8], x[lane * 8 + 256 .. 8])
}})",
                                                                                         type, op)),
                                                        cuda_target());
      expect_clean({package});
      EXPECT_NE(package.code.find(fmt::format("tf_bytes_{}(tf_wide<8>(b0 + (lane * 8)), ", op)),
                std::string::npos);
    }
}

} // namespace
} // namespace tilefuse::emit
