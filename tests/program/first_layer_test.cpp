// SPDX-License-Identifier: Apache-2.0
// First layers that read rows of taps: the same values, and only where they are meant.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/first_layer.h"

namespace tilefuse::program {
namespace {

const auto always = [](const Program &, const Program &) { return true; };

Statement &statement_of(Program &program, const std::string &name) {
  for (Statement &statement : program.statements)
    if (program[statement.out].name == name)
      return statement;
  throw std::runtime_error("no statement defines " + name);
}

// Strides, dilated rows, padding on one side only, sizes that no window covers.
constexpr const char *kConvs[] = {
    R"(program "p" {
  input %0 "x" : f16[2, 3, 11, 13]
  const %1 "w" : f16[5, 3, 7, 7]
  %2 "y" : f16[2, 5, 6, 7] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 3, 2*x + s - 3] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[1, 1, 9, 10]
  const %1 "w" : f16[2, 1, 3, 5]
  %2 "y" : f16[1, 2, 6, 8] = sum[n, m, y, x, c, r, s](%0[n, c, y + 2*r - 1, x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[1, 4, 8, 8]
  const %1 "w" : f16[3, 4, 2, 1]
  %2 "y" : f16[1, 3, 3, 3] = sum[n, m, y, x, c, r, s](%0[n, c, 3*y + r, 3*x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})",
    // channels last
    R"(program "p" {
  input %0 "x" : f16[2, 9, 12, 3]
  const %1 "w" : f16[4, 3, 5, 3]
  %2 "y" : f16[2, 4, 6, 4] = sum[n, y, x, m, r, s, c](%0[n, 2*y + r - 1, 2*x + s - 2, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})",
    // of integers, the filter's channels slowest
    R"(program "p" {
  input %0 "x" : i8[1, 6, 6, 2]
  const %1 "w" : i8[2, 3, 3, 5]
  %2 "y" : i32[1, 5, 6, 6] = sum[n, m, y, x, c, r, s](%0[n, y + r - 1, x + s - 1, c] * %1[c, r, s, m]) -> [n, m, y, x]
  output %2
})",
    // more channels
    R"(program "p" {
  input %0 "x" : f16[2, 6, 5, 7]
  const %1 "w" : f16[4, 3, 3, 7]
  %2 "y" : f16[2, 6, 5, 4] = sum[n, y, x, m, r, s, c](%0[n, y + r - 1, x + s - 1, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})",
    // one and three dimensions
    R"(program "p" {
  input %0 "x" : f16[2, 1, 40]
  const %1 "w" : f16[3, 1, 9]
  %2 "y" : f16[2, 3, 10] = sum[n, m, x, c, s](%0[n, c, 4*x + s - 4] * %1[m, c, s]) -> [n, m, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[1, 3, 4, 5, 6]
  const %1 "w" : f16[2, 3, 3, 3, 3]
  %2 "y" : f16[1, 2, 4, 3, 3] = sum[n, m, z, y, x, c, q, r, s](%0[n, c, z + q - 1, 2*y + r - 1, 2*x + s - 1] * %1[m, c, q, r, s]) -> [n, m, z, y, x]
  output %2
})",
    // of integers with and without sign
    R"(program "p" {
  input %0 "x" : u8[1, 3, 9, 11]
  const %1 "w" : i8[4, 3, 3, 3]
  %2 "y" : i32[1, 4, 4, 5] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r, 2*x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  output %2
})"};

TEST(FirstLayer, GivesTheSameValues) {
  for (const char *text : kConvs) {
    const Program before = testing::program_of(text);
    const WidenedFirstLayers after = widen_first_layers(before, always);
    EXPECT_EQ(after.layers, 1);
    EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  }
}

TEST(FirstLayer, TakesF32ThatMayBeRounded) {
  for (const char *text : {kConvs[0], kConvs[3]}) {
    std::string in_f32 = text;
    for (std::size_t at = in_f32.find("f16"); at != std::string::npos; at = in_f32.find("f16"))
      in_f32.replace(at, 3, "f32");
    Program before = testing::program_of(in_f32);
    EXPECT_EQ(widen_first_layers(before, always).layers, 0);
    before.tf32 = true;
    const WidenedFirstLayers after = widen_first_layers(before, always);
    EXPECT_EQ(after.layers, 1) << text;
    EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  }
}

TEST(FirstLayer, ReadsRunsOfFourChannels) {
  WidenedFirstLayers after = widen_first_layers(testing::program_of(kConvs[0]), always);
  const auto &body = std::get<Contraction>(statement_of(after.program, "y").body);
  EXPECT_EQ(after.program[body.in[0].tensor].shape, (Shape{2, 9, 20 * 2 * 4}));
  EXPECT_EQ(after.program[body.in[1].tensor].shape, (Shape{5, 4, 8 * 2 * 4}));
  EXPECT_EQ(to_text(body.in[0].subscripts[2], body.indices), "16*x + run");
}

// The conversion to f16 is part of storing the pixels.
TEST(FirstLayer, ReadsWhatAConversionReads) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[1, 3, 5, 5]
  const %1 "w" : f16[2, 3, 3, 3]
  %2 "half" : f16[1, 3, 5, 5] = map[%0](f16($0))
  %3 "y" : f16[1, 2, 5, 5] = sum[n, m, y, x, c, r, s](%2[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  output %3
})");
  const WidenedFirstLayers after = widen_first_layers(before, always);
  EXPECT_EQ(after.program.statements.size(), 5U) << to_text(after.program);
  EXPECT_EQ(reads(after.program.statements[0]), after.program.inputs);
  EXPECT_EQ(testing::run(after.program), testing::run(before));
}

// What bytes were made of is placed as pixels, and made into bytes there, of its borders too.
TEST(FirstLayer, ReadsWhatBytesWereMadeOf) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[1, 3, 7, 9]
  const %1 "w" : i8[4, 3, 3, 3]
  %2 "wide" : f32[1, 3, 9, 11] = assign[n, c, y, x](%0[n, c, y, x]) -> [n, c, y + 1, x + 2]
  %3 "bytes" : u8[1, 3, 9, 11] = map[%2](u8(min(max(round($0) + 7, 0), 255))) from "Quantize"
  %4 "y" : i32[1, 4, 4, 5] = sum[n, m, y, x, c, r, s](%3[n, c, 2*y + r, 2*x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  output %4
})");
  const WidenedFirstLayers after = widen_first_layers(before, always);
  EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  ASSERT_GE(after.program.statements.size(), 3U);
  EXPECT_EQ(reads(after.program.statements[0]), after.program.inputs);
  EXPECT_EQ(after.program.statements[1].origin, "Quantize");
}

// A filter that reads beyond the data meets zeros there.
TEST(FirstLayer, BytesBeyondTheDataAreZero) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[1, 3, 7, 9]
  const %1 "w" : i8[4, 3, 3, 3]
  %2 "bytes" : u8[1, 3, 7, 9] = map[%0](u8(min(max(round($0) + 7, 0), 255)))
  %3 "y" : i32[1, 4, 7, 9] = sum[n, m, y, x, c, r, s](%2[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  output %3
})");
  const WidenedFirstLayers after = widen_first_layers(before, always);
  EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
}

// Of more than four channels only where that is agreed to.
TEST(FirstLayer, AsksForMoreChannels) {
  const auto never = [](const Program &, const Program &) { return false; };
  const auto layers = [&](const char *text) {
    return widen_first_layers(testing::program_of(text), never).layers;
  };
  EXPECT_EQ(layers(kConvs[3]), 1);
  EXPECT_EQ(layers(kConvs[5]), 0);
}

TEST(FirstLayer, LeavesOthersAlone) {
  const auto layers = [](const std::string &text) {
    return widen_first_layers(testing::program_of(text), always).layers;
  };
  const auto with = [](std::string text, const std::string &from, const std::string &to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, from.size(), to);
    return text;
  };
  EXPECT_EQ(layers(with(kConvs[0], "f16", "f32")), 0);     // larger elements
  EXPECT_EQ(layers(with(kConvs[0], ", 3, ", ", 9, ")), 0); // more channels
  EXPECT_EQ(layers(with(kConvs[0], "const", "input")), 1); // the filter is stored by a statement
  EXPECT_EQ(layers(with(kConvs[0], "2*x + s", "2*x + 2*s")), 0);
}

} // namespace
} // namespace tilefuse::program
