// SPDX-License-Identifier: Apache-2.0
// Gradients of first layers in the form of matrix products: the same values, and only where they
// are meant.
#include <gtest/gtest.h>

#include "program/gradient/gradient.h"
#include "program/reference.h"
#include "program/rewrite/first_layer.h"

namespace tilefuse::program {
namespace {

const auto always = [](const Program &, const Program &) { return true; };

// Strides from 1 to 4, padding on one side only, dilation, rows that no window covers, every order
// of dimensions, one to three of them.
constexpr const char *kConvs[] = {
    R"(program "p" {
  input %0 "x" : f16[9, 3, 7, 9]
  input %1 "w" : f16[8, 3, 7, 7]
  %2 "y" : f16[9, 8, 4, 5] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 3, 2*x + s - 3] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[1, 1, 9, 10]
  input %1 "w" : f16[8, 1, 3, 5]
  %2 "y" : f16[1, 8, 6, 8] = sum[n, m, y, x, c, r, s](%0[n, c, y + 2*r - 1, x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : bf16[2, 8, 17, 4]
  input %1 "w" : bf16[8, 2, 1, 4]
  %2 "y" : bf16[2, 3, 5, 8] = sum[n, y, x, m, r, s, c](%0[n, 3*y + r, 3*x + s, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[9, 15, 14, 3]
  input %1 "w" : f16[11, 11, 3, 8]
  %2 "y" : f16[9, 3, 2, 8] = sum[n, y, x, m, r, s, c](%0[n, 4*y + r - 2, 4*x + s - 2, c] * %1[r, s, c, m]) -> [n, y, x, m]
  output %2
})",
    // more channels
    R"(program "p" {
  input %0 "x" : f16[9, 6, 5, 7]
  input %1 "w" : f16[8, 3, 3, 7]
  %2 "y" : f16[9, 3, 3, 8] = sum[n, y, x, m, r, s, c](%0[n, 2*y + r - 1, 2*x + s - 1, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[2, 1, 40]
  input %1 "w" : f16[8, 1, 9]
  %2 "y" : f16[2, 8, 10] = sum[n, m, x, c, s](%0[n, c, 4*x + s - 4] * %1[m, c, s]) -> [n, m, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[9, 3, 3, 3, 4]
  input %1 "w" : f16[8, 3, 3, 3, 3]
  %2 "y" : f16[9, 8, 3, 2, 2] = sum[n, m, z, y, x, c, q, r, s](%0[n, c, z + q - 1, 2*y + r - 1, 2*x + s - 1] * %1[m, c, q, r, s]) -> [n, m, z, y, x]
  output %2
})"};

Program gradient_of(const std::string &text, std::size_t input) {
  const Program program = testing::program_of(text);
  return gradient(program, {.by = {program.inputs[input]}});
}

std::string with(std::string text, const std::string &from, const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
    text.replace(at, from.size(), to);
  return text;
}

TEST(FirstLayerGradient, GivesTheSameValues) {
  for (const char *text : kConvs)
    for (const std::size_t input : {0, 1}) {
      const Program before = gradient_of(text, input);
      const WidenedFirstLayers after = widen_first_layers(before, always);
      EXPECT_EQ(after.layers, 1) << to_text(before);
      EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
    }
}

TEST(FirstLayerGradient, TakesF32ThatMayBeRounded) {
  for (const std::size_t input : {0, 1}) {
    Program before = gradient_of(with(kConvs[0], "f16", "f32"), input);
    EXPECT_EQ(widen_first_layers(before, always).layers, 0);
    before.tf32 = true;
    const WidenedFirstLayers after = widen_first_layers(before, always);
    EXPECT_EQ(after.layers, 1) << to_text(before);
    EXPECT_TRUE(after.program.tf32);
    EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  }
}

// Both by one program, whose pixels are stored once for the filter.
TEST(FirstLayerGradient, TakesBothOfALayer) {
  const Program program = testing::program_of(kConvs[5]);
  const Program before = gradient(program, {.by = program.inputs});
  const WidenedFirstLayers after = widen_first_layers(before, always);
  EXPECT_EQ(after.layers, 2);
  EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
}

// A block of 2 x 2 pixels has 4 x 4 taps of which a pixel uses half in each dimension; of three
// channels padded to four.
TEST(FirstLayerGradient, ComputesBlocksOfPixels) {
  const std::string text = to_text(widen_first_layers(gradient_of(kConvs[0], 0), always).program);
  EXPECT_NE(text.find("f16[9, 4, 2, 5, 8] = sum[n, q0, q1, a0, k, u0, u1, m]"), std::string::npos)
      << text;
}

// Where there are many, a block is larger than the stride.
TEST(FirstLayerGradient, GrowsBlocksOfLargeLayers) {
  const std::string conv = R"(program "p" {
  input %0 "x" : f16[256, 224, 224, 3]
  input %1 "w" : f16[64, 7, 7, 3]
  %2 "y" : f16[256, 112, 112, 64] = sum[n, y, x, m, r, s, c](%0[n, 2*y + r - 3, 2*x + s - 3, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})";
  const std::string text = to_text(widen_first_layers(gradient_of(conv, 0), always).program);
  EXPECT_NE(text.find("f16[256, 56, 4, 28, 24] = sum[n, q0, q1, a0, k, u0, u1, m]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2*q0 + u0 - 1, 4*q1 + u1 - 1"), std::string::npos) << text;
}

// Who decides sees the gradient alone, in both forms.
TEST(FirstLayerGradient, AsksWhetherToTakeIt) {
  const Program program = testing::program_of(kConvs[5]);
  const Program before = gradient(program, {.by = program.inputs});
  std::vector<Program> plain, wide;
  const auto never = [&](const Program &one, const Program &other) {
    plain.push_back(one);
    wide.push_back(other);
    return false;
  };
  const WidenedFirstLayers after = widen_first_layers(before, never);
  EXPECT_EQ(after.layers, 0);
  EXPECT_EQ(to_text(after.program), to_text(before));
  ASSERT_EQ(plain.size(), 2U);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(testing::run(wide[i]), testing::run(plain[i])) << to_text(wide[i]);
}

TEST(FirstLayerGradient, LeavesOthersAlone) {
  const auto layers = [](const std::string &text, std::size_t input) {
    return widen_first_layers(gradient_of(text, input), always).layers;
  };
  for (const std::size_t input : {0, 1}) {
    EXPECT_EQ(layers(with(kConvs[0], "f16", "f32"), input), 0);     // larger elements
    EXPECT_EQ(layers(with(kConvs[0], ", 3, ", ", 9, "), input), 0); // more channels
  }
  EXPECT_EQ(layers(with(kConvs[0], "2*x + s", "2*x + 2*s"), 0), 0);
  EXPECT_EQ(layers(with(kConvs[0], "2*x + s", "2*x + 2*s"), 1), 0);
  EXPECT_EQ(layers(with(kConvs[1], "[8, 1", "[7, 1"), 0), 0);
}

} // namespace
} // namespace tilefuse::program
