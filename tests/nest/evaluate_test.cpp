// SPDX-License-Identifier: Apache-2.0
// The evaluator on nests with known results; the definition of contractions is tested on random
// ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/index.h"
#include "nest/convolution.h"
#include "nest/flatten/flatten.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::TensorId;

// Runs a nest over slots filled with `fill(slot, element)` and returns the elements of the out
// slot.
template <class F> std::vector<double> run(const std::string &text, F fill) {
  const nest::Nest nest = nest::parse_nest(text);
  std::vector<program::Bytes> memory;
  for (const nest::Slot &slot : nest.slots) {
    memory.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i)
      store_element(memory.back().data(), slot.type, i,
                    fill(static_cast<int>(memory.size()) - 1, i));
  }
  std::vector<std::span<std::byte>> slots(memory.begin(), memory.end());
  nest::evaluate(nest, slots);
  const auto out = static_cast<std::size_t>(nest.out.slot);
  std::vector<double> result;
  for (std::int64_t i = 0; i < nest.slots[out].elems; ++i)
    result.push_back(load_element(memory[out].data(), nest.slots[out].type, i));
  return result;
}

TEST(Evaluate, SumsInDoublePrecision) {
  // 2^24 + 1 + 1 … is lost in single precision.
  const auto result = run(R"(nest sum {
    index | k 9
    slot 0 f32 9, 1 f32 1
    acc f32 = sum
    in 0 + 0 [k:9*1]
    out 1 + 0 []
    post acc
  })",
                          [](int, std::int64_t i) { return i == 0 ? 16777216.0 : 1.0; });
  EXPECT_EQ(result, std::vector<double>{16777224.0});
}

TEST(Evaluate, RoundsOnStoreOnly) {
  const auto half = run(R"(nest map {
    index d0 4
    slot 0 f32 4, 1 f16 4
    acc f16 = assign
    out 1 + 0 [d0:4*1]
    extra 0 + 0 [d0:4*1]
    post f16($0 + 2048) - 2048
  })",
                        [](int, std::int64_t i) { return 0.25 + static_cast<double>(i); });
  EXPECT_EQ(half, (std::vector<double>{0.25, 1.25, 2.25, 3.25}));
}

TEST(Evaluate, IntegersSaturateAndTruncate) {
  const auto result = run(R"(nest map {
    index d0 4
    slot 0 f32 4, 1 i8 4
    acc i8 = assign
    out 1 + 0 [d0:4*1]
    extra 0 + 0 [d0:4*1]
    post i8($0)
  })",
                          [](int, std::int64_t i) {
                            return std::vector<double>{1.9, -1.9, 300, -1e9}[at(i)];
                          });
  EXPECT_EQ(result, (std::vector<double>{1, -1, 127, -128}));
}

TEST(Evaluate, EightBitProductsDoNotOverflow) {
  const auto result = run(R"(nest matmul {
    index | k 100
    slot 0 i8 100, 1 i8 100, 2 i32 1
    acc i32 = sum mul
    in 0 + 0 [k:100*1]
    in 1 + 99 [k:100*-1]
    out 2 + 0 []
    post acc
  })",
                          [](int, std::int64_t) { return -128.0; });
  EXPECT_EQ(result, std::vector<double>{1638400.0});
}

TEST(Evaluate, ConstraintsAndGuardsDropPoints) {
  // Lower triangle of ones, seen through a window shifted by one.
  const auto result =
      run(R"(nest sum {
    index i 4 | k 4
    slot 0 f32 4, 1 f32 4
    acc f32 = sum
    in 0 + 0 [k - 1:4?*1]
    where i - k < 4
    out 1 + 0 [i:4*1]
    post acc
  })",
          [](int, std::int64_t i) { return std::pow(10.0, static_cast<double>(i)); });
  EXPECT_EQ(result, (std::vector<double>{0, 1, 11, 111}));
}

TEST(Evaluate, LongRowsAreCutIntoChunks) {
  const std::string text = R"(nest map {
    index d0 3, d1 5000
    slot 0 f32 15000, 1 f32 15000, 2 f32 3
    acc f32 = assign
    out 1 + 0 [d0:3*5000, d1:5000*1]
    extra 0 + 0 [d0:3*1, d1:5000*3]
    extra 2 + 0 [d0:3*1]
    post $0 + $1
  })";
  const auto result = run(text, [](int slot, std::int64_t i) {
    return slot == 2 ? 1e5 * static_cast<double>(i) : static_cast<double>(i);
  });
  for (std::size_t d0 = 0; d0 < 3; ++d0)
    for (std::size_t d1 = 0; d1 < 5000; ++d1)
      ASSERT_EQ(result[d0 * 5000 + d1],
                static_cast<double>(d1 * 3 + d0) + 1e5 * static_cast<double>(d0));
}

TEST(Evaluate, InPlaceSlicesReadBeforeTheyWrite) {
  const auto result = run(R"(nest map {
    index d0 3
    slot 0 f32 6
    acc f32 = assign
    out 0 + 3 [d0:3*1]
    extra 0 + 0 [d0:3*1]
    extra 0 + 3 [d0:3*1]
    post $0 * 10 + $1
  })",
                          [](int, std::int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(result, (std::vector<double>{0, 1, 2, 3, 14, 25}));
}

TEST(Evaluate, ConvolutionOfOnesCountsItsTaps) {
  const auto program = test::convolution_program({.in = 3, .out = 2, .height = 5, .width = 4});
  const auto stored = test::row_major_storage(program);
  test::Memory memory(stored);
  for (int t = 0; t < 2; ++t)
    test::for_each_point(program[TensorId{t}].shape, [&](const program::Shape &at) {
      memory.set(TensorId{t}, at, t == 0 ? 1 : static_cast<double>(at[0]) + 1);
    });
  for (const nest::FlatStatement &flat : nest::flatten(stored, program.statements[0]))
    memory.run(flat);
  test::for_each_point(program[TensorId{2}].shape, [&](const program::Shape &at) {
    const double rows = at[2] == 0 || at[2] == 4 ? 2 : 3;
    const double columns = at[3] == 0 || at[3] == 3 ? 2 : 3;
    EXPECT_EQ(memory.get(TensorId{2}, at), 3 * rows * columns * (static_cast<double>(at[1]) + 1));
  });
}

TEST(Evaluate, RefusesBuffersThatDoNotFit) {
  const nest::Nest nest = nest::parse_nest(R"(nest map {
    index d0 4
    slot 0 f32 4
    acc f32 = assign
    out 0 + 0 [d0:4*1]
    post 1
  })");
  program::Bytes bytes(15);
  std::vector<std::span<std::byte>> slots{bytes};
  EXPECT_THROW(nest::evaluate(nest, slots), Error);
  EXPECT_THROW(nest::evaluate(nest, {}), Error);
  bytes.resize(16);
  slots[0] = bytes;
  nest::evaluate(nest, slots);
  EXPECT_EQ(load_element(bytes.data(), DType::F32, 3), 1);
}

TEST(Nest, FlatMultipliesDimensionsOut) {
  const nest::Nest nest = nest::parse_nest(R"(nest sum {
    index y 3 | r 2
    slot 0 f32 60, 1 f32 3
    acc f32 = sum
    in 0 + 7 [2*y + r:6*4, y + 1:4*5]
    out 1 + 0 [y:3*1]
    post acc
  })");
  const nest::Linear address = nest::flat(nest.inputs[0], 2);
  EXPECT_EQ(address.constant, 7 + 5);
  EXPECT_EQ(address.coeff, (std::vector<std::int64_t>{8 + 5, 4}));
}

// 0.5 / 0.019607844 is 25.5 as an f32, and less as a double.
TEST(Evaluate, RoundsQuotientsOfFloatsToWholeNumbersAsFloats) {
  const std::string text = R"(nest map {
    index x 1
    slot 0 f32 1, 1 f32 1, 2 f32 1
    acc f32 = assign
    out 2 + 0 [x:1*1]
    extra 0 + 0 [x:1*1]
    extra 1 + 0 [x:1*1]
    post round($0 / $1)
  })";
  const double scale = static_cast<double>(0.019607844F);
  EXPECT_EQ(run(text, [&](int slot, std::int64_t) { return slot == 0 ? 0.5 : scale; }),
            std::vector<double>{26});
}

TEST(Nest, CountsOperations) {
  const auto program = test::convolution_program({.in = 3, .out = 2, .height = 5, .width = 4});
  const auto stored = test::row_major_storage(program);
  const auto flats = nest::flatten(stored, program.statements[0]);
  EXPECT_EQ(nest::flops(flats.at(0).nest), 2.0 * 2 * 5 * 4 * 27);
}

TEST(Nest, StartsFromTheNeutralElement) {
  EXPECT_EQ(nest::initial_value(program::Agg::Sum, DType::F32), 0);
  EXPECT_EQ(nest::initial_value(program::Agg::Product, DType::I32), 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(nest::initial_value(program::Agg::Max, DType::F32), -kInfinity);
  EXPECT_EQ(nest::initial_value(program::Agg::Max, DType::U8), 0);
  EXPECT_EQ(nest::initial_value(program::Agg::Min, DType::I8), 127);
  EXPECT_EQ(nest::initial_value(program::Agg::Min, DType::F16), kInfinity);
}

} // namespace
} // namespace tilefuse
