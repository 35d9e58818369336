// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/reference.h"
#include "program/storage/padded_rows.h"
#include "program/storage/padded_storage.h"
#include "program/storage/storage.h"

namespace tilefuse::program {
namespace {

using testing::program_of;

// Storage of a program, checked to compute what the program does.
StoredProgram stored(const std::string &text) {
  const Program program = program_of(text);
  StoredProgram result = assign_storage(program);
  EXPECT_EQ(testing::run(result), testing::run(program)) << to_text(result);
  return result;
}

const Window &window(const StoredProgram &s, int id) {
  return s.windows.at(static_cast<std::size_t>(id));
}
const Buffer &buffer(const StoredProgram &s, int id) {
  return s.buffers.at(static_cast<std::size_t>(to_int(window(s, id).buffer)));
}

std::size_t copies(const StoredProgram &s, std::string_view origin) {
  std::size_t count = 0;
  for (const Statement &statement : s.program.statements)
    count += statement.origin == origin ? 1 : 0;
  return count;
}

bool has_statement(const StoredProgram &s, int id) {
  for (const Statement &statement : s.program.statements)
    if (to_int(statement.out) == id)
      return true;
  return false;
}

// A 1x1 convolution of `in` (4 channels of 4 x 4 unless said) with weights %w.
std::string conv(int out, int in, int w, const std::string &shape = "1, 4, 4, 4") {
  return fmt::format(
      "%{} \"conv\" : f32[{}] = sum[n, m, y, x, c](%{}[n, c, y, x] * %{}[m, c]) -> [n, m, y, x]\n",
      out, shape, in, w);
}
std::string relu(int out, int in, const std::string &shape = "1, 4, 4, 4") {
  return fmt::format("%{} \"relu\" : f32[{}] = map[%{}](max($0, 0))\n", out, shape, in);
}
// Copies `in` to channel `at` of `out`, over `init` unless negative.
std::string insert(int out, int in, int at, int channels, int init) {
  return fmt::format("%{} \"cat\" : f32[1, {}, 4, 4] = assign[n, c, y, x](%{}[n, c, y, x]) -> [n, "
                     "c + {}, y, x]{}\n",
                     out, channels, in, at, init < 0 ? "" : fmt::format(" init %{}", init));
}
const std::string kStart = R"(program "t" {
  input %0 "x" : f32[1, 4, 4, 4]
  const %1 "w" : f32[4, 4]
)";

TEST(Storage, PicksChannelsLastForConvolutionsOnly) {
  const auto s = stored(kStart + conv(2, 0, 1) + relu(3, 2) + conv(4, 3, 1) + "output %4 }");
  EXPECT_EQ(window(s, 0).strides, (Shape{64, 16, 4, 1}));
  EXPECT_EQ(window(s, 2).strides, (Shape{64, 1, 16, 4}));
  EXPECT_EQ(window(s, 3).strides, (Shape{64, 1, 16, 4}));
  EXPECT_EQ(window(s, 4).strides, (Shape{64, 16, 4, 1}));
  EXPECT_TRUE(buffer(s, 4).is_output);
  EXPECT_FALSE(buffer(s, 3).needs_zero);
  const auto plain = stored(R"(program "t" { input %0 "x" : f32[1, 4, 4, 4]
    %2 "a" : f32[1, 4, 4, 4] = map[%0]($0 + 1) %3 "b" : f32[1, 4, 4, 4] = map[%2]($0 * 2) output %3 })");
  EXPECT_EQ(window(plain, 2).strides, (Shape{64, 16, 4, 1}));
}

TEST(Storage, KeepsMatrixProductsRowMajor) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[2, 3, 4] const %1 "w" : f32[4, 5]
    %2 "a" : f32[2, 3, 5] = sum[b, t, d, k](%0[b, t, k] * %1[k, d]) -> [b, t, d]
    %3 "b" : f32[2, 3, 5] = map[%2](max($0, 0)) output %3 })");
  EXPECT_EQ(window(s, 2).strides, (Shape{15, 5, 1}));
}

TEST(Storage, AliasesAViewThatStridesExpress) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[2, 3, 4, 4] const %1 "w" : f32[5, 3]
    %2 "c" : f32[2, 5, 4, 4] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
    %3 "pool" : f32[2, 5, 1, 1] = sum[n, c, y, x](%2[n, c, y, x]) -> [n, c, 0, 0]
    %4 "flat" : f32[2, 5] = view(%3)
    %5 "r" : f32[2, 5] = map[%4](max($0, 0)) output %5 })");
  EXPECT_EQ(copies(s, "layout"), 0U);
  EXPECT_EQ(window(s, 4).buffer, window(s, 3).buffer);
  EXPECT_EQ(window(s, 4).strides, (Shape{5, 1}));
}

TEST(Storage, CopiesForAViewThatStridesCannotExpress) {
  const auto s = stored(kStart + conv(2, 0, 1) + relu(3, 2) + R"(%4 "flat" : f32[1, 64] = view(%3)
    %5 "again" : f32[64] = view(%4)
    %6 "r" : f32[1, 64] = map[%4, %5]($0 + $1) output %6 })");
  EXPECT_EQ(copies(s, "layout"), 1U) << "both views share the copy";
  EXPECT_EQ(window(s, 3).strides[1], 1);
  EXPECT_EQ(window(s, 4).buffer, window(s, 5).buffer);
  EXPECT_NE(window(s, 4).buffer, window(s, 3).buffer);
}

TEST(Storage, ViewsOfInputsAndConstantsMoveNothing) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[2, 6] const %1 "w" : f32[3, 2, 2]
    %2 "xv" : f32[3, 4] = view(%0)
    %3 "wv" : f32[12] = view(%1)
    %4 "wvv" : f32[3, 4] = view(%3)
    %5 "r" : f32[3, 4] = map[%2, %4]($0 + $1) output %5 })");
  EXPECT_EQ(s.program.statements.size(), 1U);
  EXPECT_EQ(window(s, 2).buffer, window(s, 0).buffer);
  EXPECT_EQ(window(s, 4).buffer, window(s, 1).buffer);
  EXPECT_EQ(s.program[TensorId{4}].role, Role::Constant);
  EXPECT_EQ(s.program[TensorId{4}].data, s.program[TensorId{1}].data);
}

TEST(Storage, OutputsAreBuffersOfTheirOwn) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[2, 3] const %1 "w" : f32[2, 3]
    %2 "a" : f32[2, 3] = map[%0]($0 + 1)
    %3 "v" : f32[6] = view(%2)
    %4 "xv" : f32[6] = view(%0)
    output %0 output %1 output %2 output %2 output %3 output %4 output %4 })");
  EXPECT_EQ(copies(s, "output"), 6U);
  std::vector<bool> seen(s.buffers.size(), false);
  for (TensorId id : s.program.outputs) {
    const Buffer &b = buffer(s, to_int(id));
    EXPECT_TRUE(b.is_output);
    EXPECT_EQ(b.role, Role::Temporary);
    EXPECT_EQ(window(s, to_int(id)).strides, row_major(s.program[id].shape));
    const auto index = static_cast<std::size_t>(to_int(window(s, to_int(id)).buffer));
    EXPECT_FALSE(seen[index]);
    seen[index] = true;
  }
}

TEST(Storage, AnOutputViewIsNotCopied) {
  const auto flat = stored(kStart + conv(2, 0, 1) + "%3 \"v\" : f32[64] = view(%2) output %3 }");
  EXPECT_EQ(copies(flat, "layout"), 0U);
  EXPECT_TRUE(buffer(flat, 3).is_output);
  EXPECT_EQ(flat.program.statements.size(), 1U);
  const auto pool = stored(kStart + conv(2, 0, 1) + R"(
    %3 "p" : f32[1, 4, 1, 1] = max[n, c, y, x](%2[n, c, y, x]) -> [n, c, 0, 0]
    %4 "v" : f32[4] = view(%3) output %4 })");
  EXPECT_EQ(copies(pool, "layout"), 0U);
  EXPECT_TRUE(buffer(pool, 3).is_output);
  EXPECT_EQ(pool.program.statements.size(), 2U);
}

TEST(Storage, SuperResolutionShuffleEndsWithoutACopy) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    %3 "split" : f32[1, 1, 2, 2, 4, 4] = view(%2)
    %4 "turn" : f32[1, 1, 4, 2, 4, 2] = assign[n, c, i, j, y, x](%3[n, c, i, j, y, x]) -> [n, c, y, i, x, j]
    %5 "image" : f32[1, 1, 8, 8] = view(%4)
    output %5 })");
  EXPECT_EQ(copies(s, "layout"), 0U);
  EXPECT_EQ(s.program.statements.size(), 2U);
  EXPECT_EQ(window(s, 2).strides[1], 1);
  EXPECT_EQ(window(s, 3).buffer, window(s, 2).buffer);
  EXPECT_EQ(window(s, 5).buffer, window(s, 4).buffer);
}

TEST(Storage, ChannelShuffleStaysChannelsLast) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    %3 "split" : f32[1, 2, 2, 4, 4] = view(%2)
    %4 "turn" : f32[1, 2, 2, 4, 4] = assign[n, g, c, y, x](%3[n, g, c, y, x]) -> [n, c, g, y, x]
    %5 "shuffled" : f32[1, 4, 4, 4] = view(%4)
    )" + conv(6, 5, 1) + "output %6 }");
  EXPECT_EQ(copies(s, "layout"), 0U);
  EXPECT_EQ(s.program.statements.size(), 3U);
  EXPECT_EQ(window(s, 5).strides, (Shape{64, 1, 16, 4}));
}

TEST(Storage, GroupedConvolutionWritesTheChannelsOfItsView) {
  const auto s = stored(
      R"(program "t" { input %0 "x" : f32[1, 4, 3, 3] const %1 "w" : f32[2, 3, 2] const %2 "v" : f32[4, 6]
    %3 "split" : f32[1, 2, 2, 3, 3] = view(%0)
    %4 "grouped" : f32[1, 2, 3, 3, 3] = sum[n, g, m, y, x, c](%3[n, g, c, y, x] * %1[g, m, c]) -> [n, g, m, y, x]
    %5 "joined" : f32[1, 6, 3, 3] = view(%4)
    %6 "conv" : f32[1, 4, 3, 3] = sum[n, m, y, x, c](%5[n, c, y, x] * %2[m, c]) -> [n, m, y, x]
    output %6 })");
  EXPECT_EQ(copies(s, "layout"), 0U);
  EXPECT_EQ(window(s, 5).strides, (Shape{54, 1, 18, 6}));
  EXPECT_EQ(window(s, 4).strides[2], 1);
}

TEST(Storage, ShuffleUnitMovesNothingButTheShuffle) {
  const auto s = stored(
      R"(program "t" { input %0 "x" : f32[1, 4, 3, 3] const %1 "w" : f32[2, 3, 2] const %2 "d" : f32[6]
    %3 "split" : f32[1, 2, 2, 3, 3] = view(%0)
    %4 "grouped" : f32[1, 2, 3, 3, 3] = sum[n, g, m, y, x, c](%3[n, g, c, y, x] * %1[g, m, c]) -> [n, g, m, y, x]
    %5 "joined" : f32[1, 6, 3, 3] = view(%4)
    %6 "relu" : f32[1, 6, 3, 3] = map[%5](max($0, 0))
    %7 "groups" : f32[1, 2, 3, 3, 3] = view(%6)
    %8 "turned" : f32[1, 3, 2, 3, 3] = assign[n, c, g, y, x](%7[n, g, c, y, x]) -> [n, c, g, y, x]
    %9 "shuffled" : f32[1, 6, 3, 3] = view(%8)
    %10 "depthwise" : f32[1, 6, 3, 3] = sum[n, c, y, x](%9[n, c, y, x] * %2[c]) -> [n, c, y, x]
    %11 "end" : f32[1, 6, 3, 3] = map[%10]($0 + 1)
    output %11 })");
  EXPECT_EQ(s.program.statements.size(), 5U);
  for (int id : {5, 6, 9, 10})
    EXPECT_EQ(window(s, id).strides, (Shape{54, 1, 18, 6})) << id;
}

TEST(Storage, FireConcatenationIsWrittenInPlace) {
  const auto s = stored(kStart + conv(2, 0, 1) + relu(3, 2) + conv(4, 0, 1) + relu(5, 4) +
                        insert(6, 3, 0, 8, -1) + insert(7, 5, 4, 8, 6) + relu(8, 7, "1, 8, 4, 4") +
                        "output %8 }");
  EXPECT_FALSE(has_statement(s, 6));
  EXPECT_FALSE(has_statement(s, 7));
  EXPECT_EQ(window(s, 3).buffer, window(s, 7).buffer);
  EXPECT_EQ(window(s, 3).offset, 0);
  EXPECT_EQ(window(s, 5).buffer, window(s, 7).buffer);
  EXPECT_EQ(window(s, 5).offset, 4);
  EXPECT_EQ(window(s, 5).strides, (Shape{128, 1, 32, 8}));
  EXPECT_FALSE(buffer(s, 7).needs_zero);
}

TEST(Storage, ConcatenationThroughFlatViewsIsWrittenInPlace) {
  const auto s = stored(kStart + conv(2, 0, 1) + conv(3, 0, 1) + R"(
    %4 "a" : f32[1, 4, 16] = view(%2)
    %5 "b" : f32[1, 4, 16] = view(%3)
    %6 "p" : f32[1, 8, 16] = assign[n, c, x](%4[n, c, x]) -> [n, c, x]
    %7 "o" : f32[1, 8, 16] = assign[n, c, x](%5[n, c, x]) -> [n, c + 4, x] init %6
    %8 "cat" : f32[1, 8, 4, 4] = view(%7)
    %9 "end" : f32[1, 4, 4, 4] = sum[n, m, y, x, c](%8[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
    output %9 })");
  EXPECT_EQ(s.program.statements.size(), 3U);
  EXPECT_EQ(window(s, 8).strides, (Shape{128, 1, 32, 8}));
  EXPECT_EQ(window(s, 3).offset, 4);
  EXPECT_FALSE(buffer(s, 8).needs_zero);
}

TEST(Storage, ThreeWayConcatenationCopiesOnlyWhatItMust) {
  const auto s = stored(kStart + conv(2, 0, 1) + insert(3, 2, 0, 12, -1) + insert(4, 0, 4, 12, 3) +
                        insert(5, 2, 8, 12, 4) + relu(6, 5, "1, 12, 4, 4") + "output %6 }");
  EXPECT_TRUE(has_statement(s, 4)) << "an input has to be copied";
  EXPECT_NE(has_statement(s, 3), has_statement(s, 5))
      << "the convolution is written to one of its two places";
  EXPECT_EQ(window(s, 3).buffer, window(s, 5).buffer);
  EXPECT_FALSE(buffer(s, 5).needs_zero);
}

// Copies the `channels` of `in` to channel 0 of a tensor of `total` channels, then `more` (4
// channels) behind them.
std::string dense(int out, int in, int channels, int more) {
  return fmt::format(
      "%{0} \"p\" : f32[1, {1}, 4, 4] = assign[n, c, y, x](%{2}[n, c, y, x]) -> [n, c, y, x]\n"
      "%{3} \"cat\" : f32[1, {1}, 4, 4] = assign[n, c, y, x](%{4}[n, c, y, x]) -> [n, c + {5}, y, "
      "x] init %{0}\n",
      out - 1, channels + 4, in, out, more, channels);
}

TEST(Storage, DenseBlockIsOneBuffer) {
  const auto s = stored(kStart + "const %20 \"w8\" : f32[4, 8] const %21 \"w12\" : f32[4, 12]" +
                        conv(2, 0, 1) + conv(3, 2, 1) + dense(5, 2, 4, 3) +
                        relu(6, 5, "1, 8, 4, 4") + conv(7, 6, 20) + dense(9, 5, 8, 7) +
                        relu(10, 9, "1, 12, 4, 4") + conv(11, 10, 21) + "output %11 }");
  for (int id : {2, 3, 5, 7})
    EXPECT_EQ(window(s, id).buffer, window(s, 9).buffer) << id;
  for (int id : {4, 5, 8, 9})
    EXPECT_FALSE(has_statement(s, id)) << id;
  EXPECT_EQ(window(s, 7).offset, 8);
  EXPECT_EQ(window(s, 3).strides, (Shape{192, 1, 48, 12}));
  EXPECT_FALSE(buffer(s, 9).needs_zero);
}

TEST(Storage, AnInitThatOthersReadKeepsItsBuffer) {
  const auto s = stored(kStart + conv(2, 0, 1) + insert(3, 2, 0, 8, -1) + insert(4, 0, 4, 8, 3) +
                        "%5 \"sum\" : f32[1, 8, 4, 4] = map[%3, %4]($0 + $1) output %5 }");
  EXPECT_NE(window(s, 3).buffer, window(s, 4).buffer);
  EXPECT_TRUE(buffer(s, 3).needs_zero);
  EXPECT_FALSE(buffer(s, 4).needs_zero);
}

TEST(Storage, OverlappingInsertsKeepTheirOrder) {
  const auto s = stored(kStart + conv(2, 0, 1) + conv(3, 0, 1) + insert(4, 2, 0, 6, -1) +
                        insert(5, 3, 2, 6, 4) + relu(6, 5, "1, 6, 4, 4") + "output %6 }");
  EXPECT_TRUE(has_statement(s, 4));
  EXPECT_TRUE(has_statement(s, 5));
  EXPECT_EQ(window(s, 4).buffer, window(s, 5).buffer);
  EXPECT_FALSE(buffer(s, 5).needs_zero);
}

TEST(Storage, PaddingWritesTheInsideOfAZeroedBuffer) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    %3 "pad" : f32[1, 4, 6, 6] = assign[n, c, y, x](%2[n, c, y, x]) -> [n, c, y + 1, x + 1]
    %4 "r" : f32[1, 4, 6, 6] = map[%3]($0 + 1) output %4 })");
  EXPECT_FALSE(has_statement(s, 3));
  EXPECT_EQ(window(s, 2).offset, 6 * 4 + 4);
  EXPECT_TRUE(buffer(s, 2).needs_zero);
}

TEST(Storage, PaddingOfATensorWithOtherReadersIsACopy) {
  const auto s = stored(kStart + conv(2, 0, 1) + conv(3, 2, 1) + R"(
    %4 "pad" : f32[1, 4, 6, 6] = assign[n, c, y, x](%2[n, c, y, x]) -> [n, c, y + 1, x + 1]
    %5 "r" : f32[1, 4, 6, 6] = map[%4]($0 + 1) output %3 output %5 })");
  EXPECT_TRUE(has_statement(s, 4));
  EXPECT_FALSE(buffer(s, 4).needs_zero) << "the copy writes the zeros";
  EXPECT_FALSE(buffer(s, 2).needs_zero);
}

TEST(Storage, AConstantIsCopiedIntoItsSlice) {
  const auto s =
      stored(R"(program "t" { input %0 "x" : f32[1, 2, 2, 2] const %1 "w" : f32[1, 2, 2, 2]
    %2 "a" : f32[1, 2, 2, 2] = map[%0]($0 * 2)
    %3 "p" : f32[1, 4, 2, 2] = assign[n, c, y, x](%1[n, c, y, x]) -> [n, c, y, x]
    %4 "o" : f32[1, 4, 2, 2] = assign[n, c, y, x](%2[n, c, y, x]) -> [n, c + 2, y, x] init %3
    output %4 })");
  EXPECT_TRUE(has_statement(s, 3));
  EXPECT_FALSE(has_statement(s, 4));
  EXPECT_TRUE(buffer(s, 2).is_output);
  EXPECT_FALSE(buffer(s, 2).needs_zero);
}

TEST(Storage, InitFromAConstantWritesEverything) {
  const auto s = stored(kStart + "const %2 \"fill\" : f32[1, 8, 4, 4]" + conv(3, 0, 1) +
                        insert(4, 3, 2, 8, 2) + relu(5, 4, "1, 8, 4, 4") + "output %5 }");
  EXPECT_TRUE(has_statement(s, 4));
  EXPECT_NE(window(s, 3).buffer, window(s, 4).buffer);
  EXPECT_FALSE(buffer(s, 4).needs_zero);
}

TEST(Storage, ASliceOfAnotherTypeIsCopied) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[4]
    %1 "a" : f32[4] = map[%0]($0 * 2)
    %2 "b" : f16[8] = assign[i](%1[i]) -> [i + 4]
    output %2 })");
  EXPECT_TRUE(has_statement(s, 2));
  EXPECT_FALSE(buffer(s, 2).needs_zero) << "the copy writes the zeros";
}

TEST(Storage, AnOutputInsertedElsewhereKeepsItsBuffer) {
  const auto s = stored(kStart + conv(2, 0, 1) + insert(3, 2, 0, 8, -1) + insert(4, 0, 4, 8, 3) +
                        "output %2 output %4 }");
  EXPECT_TRUE(has_statement(s, 3));
  EXPECT_NE(window(s, 2).buffer, window(s, 4).buffer);
}

TEST(Storage, AnOutputViewInsertedElsewhereKeepsItsBuffer) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[4, 4]
    %1 "a" : f32[4, 4] = map[%0]($0 * 2) %2 "v" : f32[16] = view(%1)
    %3 "p" : f32[20] = assign[i](%2[i]) -> [i] output %2 output %3 })");
  EXPECT_TRUE(has_statement(s, 3));
  EXPECT_EQ(window(s, 1).buffer, window(s, 2).buffer);
}

TEST(Storage, AnOutputViewOfAPieceOfASlabIsCopied) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[1, 16] input %1 "y" : f32[1, 16]
    %2 "a" : f32[1, 16] = map[%0]($0 * 2)
    %3 "p" : f32[2, 16] = assign[i, j](%2[i, j]) -> [i, j]
    %4 "q" : f32[2, 16] = assign[i, j](%1[i, j]) -> [i + 1, j] init %3
    %5 "v" : f32[16] = view(%2)
    %6 "r" : f32[2, 16] = map[%4]($0 + 1) output %5 output %6 })");
  EXPECT_NE(window(s, 5).buffer, window(s, 4).buffer);
}

TEST(Storage, OnlyOneOfTwoOutputViewsOfATensorSharesItsBuffer) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[4, 4]
    %1 "a" : f32[4, 4] = map[%0]($0 * 2) %2 "v" : f32[16] = view(%1) %3 "w" : f32[2, 8] = view(%1)
    output %2 output %3 output %1 })");
  EXPECT_EQ(s.program.statements.size(), 3U);
}

TEST(Storage, AConvolutionWritesZerosWhereItComputesNothing) {
  const auto padded =
      stored(R"(program "t" { input %0 "x" : f32[1, 1, 5, 5] const %1 "w" : f32[2, 1, 3, 3]
    %2 "c" : f32[1, 2, 5, 5] = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
    output %2 })");
  EXPECT_FALSE(buffer(padded, 2).needs_zero);
  const auto valid =
      stored(R"(program "t" { input %0 "x" : f32[1, 1, 5, 5] const %1 "w" : f32[2, 1, 3, 3]
    %2 "c" : f32[1, 2, 5, 5] = sum[n, m, y, x, c, r, s](%0[n, c, y + r, x + s] * %1[m, c, r, s]) -> [n, m, y, x]
      where 0 <= y < 3
    output %2 })");
  EXPECT_FALSE(buffer(valid, 2).needs_zero);
}

TEST(Storage, ZeroesWhatNoDimensionRunsOver) {
  const auto one = stored(R"(program "t" { input %0 "x" : f32[5]
    %1 "o" : f32[5, 3] = assign[i](%0[i]) -> [i, 2] output %1 })");
  EXPECT_TRUE(buffer(one, 1).needs_zero);
  const auto diagonal = stored(R"(program "t" { input %0 "x" : f32[5]
    %1 "o" : f32[5, 5] = assign[i](%0[i]) -> [i, i] output %1 })");
  EXPECT_TRUE(buffer(diagonal, 1).needs_zero);
}

TEST(Storage, TensorsThatNothingUsesHaveNoBuffer) {
  const auto s = stored(
      R"(program "t" { input %0 "x" : f32[4] %3 "a" : f32[4] = map[%0]($0 * 2) output %3 })");
  EXPECT_EQ(window(s, 1).buffer, kNoBuffer);
  EXPECT_EQ(window(s, 2).buffer, kNoBuffer);
}

TEST(Storage, ScalarsWork) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[4]
    %1 "sum" : f32[] = sum[i](%0[i]) -> [] %2 "v" : f32[1, 1] = view(%1) %3 "w" : f32[] = view(%2)
    output %1 output %3 })");
  EXPECT_EQ(copies(s, "output"), 1U);
}

// Pixels by channels behind a convolution: read with channels last they are a matrix's rows, whose
// product is one too and has no channels in its second dimension.
TEST(Storage, ChannelsStayBehindAPermutation) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    const %3 "v" : f32[4, 6]
    %4 "rows" : f32[1, 4, 4, 6] = sum[n, y, x, k, c](%2[n, c, y, x] * %3[c, k]) -> [n, y, x, k]
    %5 "r" : f32[1, 4, 4, 6] = map[%4](max($0, 0))
    %6 "s" : f32[] = sum[n, y, x, k](%5[n, y, x, k]) -> []
    output %6 })");
  EXPECT_EQ(window(s, 2).strides, (Shape{64, 1, 16, 4}));
  EXPECT_EQ(window(s, 4).strides, (Shape{96, 24, 6, 1}));
  EXPECT_EQ(window(s, 5).strides, (Shape{96, 24, 6, 1}));
}

TEST(Storage, APermutingCopyThatMovesNothingIsDropped) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    %3 "last" : f32[1, 4, 4, 4] = assign[n, y, x, c](%2[n, c, y, x]) -> [n, y, x, c]
    %4 "a" : f32[1, 4, 4, 4] = map[%3]($0 + 1)
    %5 "b" : f32[1, 4, 4, 4] = map[%2]($0 * 2)
    output %4 output %5 })");
  EXPECT_FALSE(has_statement(s, 3)) << to_text(s);
  EXPECT_EQ(window(s, 3).buffer, window(s, 2).buffer);
  EXPECT_EQ(window(s, 2).strides, (Shape{64, 1, 16, 4}));
  EXPECT_EQ(window(s, 3).strides, (Shape{64, 16, 4, 1}));
  EXPECT_FALSE(buffer(s, 2).needs_zero);
}

// Where the layouts differ it is a copy: here both are row-major.
TEST(Storage, APermutingCopyThatMovesIsKept) {
  const auto s = stored(R"(program "t" { input %0 "x" : f32[3, 4]
    %1 "a" : f32[3, 4] = map[%0]($0 + 1)
    %2 "t" : f32[4, 3] = assign[i, j](%1[j, i]) -> [i, j]
    %3 "b" : f32[4, 3] = map[%2]($0 * 2)
    %4 "c" : f32[3, 4] = map[%1]($0 * 3)
    output %3 output %4 })");
  EXPECT_TRUE(has_statement(s, 2)) << to_text(s);
}

TEST(Storage, RowsLiePaddedWhereViewsCanWalkThem) {
  const Program program = program_of(R"(program "t" {
    input %0 "x" : f32[2, 3, 29]
    %1 "rows" : f32[2, 3, 29] = map[%0]($0 * 2)
    %2 "merged" : f32[6, 29] = view(%1)
    %3 "sums" : f32[6] = sum[i, j](%2[i, j]) -> [i]
    %4 "flat" : f32[2, 3, 29] = map[%0]($0 + 1)
    %5 "line" : f32[174] = view(%4)
    %6 "all" : f32[] = sum[i](%5[i]) -> []
    %7 "short" : f32[2, 3, 9] = assign[a, b, i](%0[a, b, i]) -> [a, b, i]
    %8 "out" : f32[2, 3, 29] = map[%1]($0 + 1)
    %9 "most" : f32[] = max[a, b, i](%7[a, b, i]) -> []
    output %3 output %6 output %8 output %9 })");
  const StoredProgram s = assign_padded_storage(program);
  EXPECT_EQ(testing::run(s), testing::run(program)) << to_text(s);
  EXPECT_EQ(window(s, 1).strides, (Shape{96, 32, 1}));
  EXPECT_EQ(buffer(s, 1).elems, 192);
  EXPECT_EQ(window(s, 2).strides, (Shape{32, 1}));
  EXPECT_EQ(window(s, 4).strides, (Shape{87, 29, 1})) << "its elements are a line";
  EXPECT_EQ(window(s, 7).strides, (Shape{27, 9, 1})) << "a third more memory";
  EXPECT_EQ(window(s, 8).strides, (Shape{87, 29, 1})) << "an output";
  EXPECT_EQ(padded_rows({4, 197}, DType::F16), (Shape{200, 1}));
  EXPECT_EQ(padded_rows({4, 200}, DType::F16), (Shape{200, 1}));
  EXPECT_EQ(padded_rows({197}, DType::F16), (Shape{1}));
}

TEST(Storage, PrintsBuffersAndWindows) {
  const auto s = stored(kStart + conv(2, 0, 1) + R"(
    %3 "pad" : f32[1, 4, 6, 6] = assign[n, c, y, x](%2[n, c, y, x]) -> [n, c, y + 1, x + 1]
    %4 "r" : f32[1, 4, 6, 6] = map[%3]($0 + 1) output %4 })");
  const std::string text = to_text(s);
  EXPECT_NE(text.find("temp %3 \"pad\" : f32[1, 4, 6, 6]"), std::string::npos) << text;
  EXPECT_NE(text.find("buffer 0 output f32 144\n"), std::string::npos) << text;
  EXPECT_NE(text.find("buffer 1 temporary f32 144 zero\n"), std::string::npos) << text;
  EXPECT_NE(text.find("window %2 = 1 + 28 [144, 1, 24, 4]\n"), std::string::npos) << text;
}

TEST(Storage, VerifyRefusesWindowsOutsideTheirBuffers) {
  auto s = stored(
      R"(program "t" { input %0 "x" : f32[4] %1 "a" : f32[4] = map[%0]($0 * 2) output %1 })");
  auto shifted = s;
  shifted.windows[1].offset = 1;
  EXPECT_THROW(verify(shifted), Error);
  auto shared = s;
  shared.buffers.push_back(shared.buffers[0]);
  shared.buffers.back().is_output = true;
  shared.windows[1].buffer = BufferId{2};
  shared.buffers[2].elems = 5;
  EXPECT_THROW(verify(shared), Error) << "the output does not span its buffer";
  auto missing = s;
  missing.windows[1].buffer = kNoBuffer;
  EXPECT_THROW(verify(missing), Error);
  s.windows.pop_back();
  EXPECT_THROW(verify(s), Error);
}

} // namespace
} // namespace tilefuse::program
