// SPDX-License-Identifier: Apache-2.0
// Bounds of what correct kernels may store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "model/oracle/expected.h"
#include "model/oracle/kernel_case.h"

namespace tilefuse::nest {
namespace {

const std::vector<std::vector<std::int64_t>> kFirst = {{0}};

// The exact sum, 0.625 and a little more than half a unit in the last place, is rounded up. A
// kernel that stores the accumulator in half precision first meets a tie, and stores 0.625.
TEST(Expected, ValuesThatRoundedTwiceAreWithinTheirBound) {
  const Nest nest = parse_nest(R"(nest sum {
  index x 1 | k 1
  slot 0 f32 1, 1 f16 1, 2 f16 1
  acc f32 = sum
  in 0 + 0 [k:1*1]
  out 2 + 0 [x:1*1]
  extra 1 + 0 [x:1*1]
  post f16(acc) + $0
})");
  std::vector<std::vector<std::byte>> slots = {std::vector<std::byte>(4), std::vector<std::byte>(2),
                                               std::vector<std::byte>(2)};
  store_element(slots[0].data(), DType::F32, 0, 0x1p-3 + 0x1p-12 + 0x1p-15);
  store_element(slots[1].data(), DType::F16, 0, 0.5);
  const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  const Expectation want = Expected(nest, spans, kFirst).at({0});
  EXPECT_EQ(want.value, 0.625 + 0x1p-11);
  EXPECT_LE(std::fabs(0.625 - want.value), want.bound);
  EXPECT_LT(want.bound, 0x1p-10); // two units are wrong
}

// Data that are drawn keep a product of hundreds of factors in the range of floats, and it is
// compared within units of its last place.
TEST(Expected, LongProductsHaveABound) {
  model::KernelCase one;
  one.group.anchor = parse_nest(R"(nest reduce {
  index a 21 | k 12, l 12
  slot 0 bf16 3024, 1 bf16 14, 2 bf16 21
  acc f32 = product mul
  in 0 + 0 [a:21*1, k:12*252, l:12*21]
  in 1 + 0 [l:12*1]
  out 2 + 0 [a:21*1]
  post acc
})");
  one.schedule = schedule::scalar_schedule(one.group.anchor);
  for (const model::Values values : {model::Values::Integers, model::Values::Reals}) {
    one.values = values;
    std::vector<std::vector<std::byte>> slots = model::make_slots(one);
    const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
    Random random(1);
    const std::vector<std::vector<std::int64_t>> points =
        output_points(one.group.anchor, 21, random);
    const Expected expected(one.group.anchor, spans, points);
    for (const std::vector<std::int64_t> &point : points) {
      const Expectation want = expected.at(point);
      EXPECT_NE(want.value, 0);
      EXPECT_LE(want.bound, std::fabs(want.value) / 64) << point.front();
    }
  }
}

// What is expected at a point does not depend on the others that are asked for.
TEST(Expected, OnePointReadsWhatItNeeds) {
  model::KernelCase one;
  one.values = model::Values::Reals;
  for (const std::string_view comb : {"sum mul", "max mul", "product mul", "sum equal"}) {
    one.group.anchor = parse_nest(fmt::format(R"(nest padded {{
  index x 40, m 3 | r 3, c 2
  slot 0 f32 80, 1 f32 18, 2 f32 120
  acc f32 = {}
  in 0 + 0 [x + r - 1:40?*2, c:2*1]
  in 1 + 0 [m:3*6, r:3*2, c:2*1]
  out 2 + 0 [x:40*3, m:3*1]
  post acc
}})",
                                              comb));
    one.schedule = schedule::scalar_schedule(one.group.anchor);
    std::vector<std::vector<std::byte>> slots = model::make_slots(one);
    const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
    Random random(1);
    const std::vector<std::vector<std::int64_t>> points =
        output_points(one.group.anchor, 120, random);
    const Expected all(one.group.anchor, spans, points);
    for (const std::vector<std::int64_t> &point : points) {
      const Expectation alone = Expected(one.group.anchor, spans, {&point, 1}).at(point);
      EXPECT_EQ(alone.value, all.at(point).value) << comb;
      EXPECT_EQ(alone.bound, all.at(point).bound) << comb;
    }
  }
}

// Nothing is promised of a product whose parts may overflow.
TEST(Expected, ProductsOfLargeFactorsHaveNone) {
  const Nest nest = parse_nest(R"(nest product {
  index x 1 | k 256
  slot 0 f32 256, 1 f32 1
  acc f32 = product
  in 0 + 0 [k:256*1]
  out 1 + 0 [x:1*1]
  post acc
})");
  std::vector<std::vector<std::byte>> slots = {std::vector<std::byte>(1024),
                                               std::vector<std::byte>(4)};
  for (std::int64_t i = 0; i < 256; ++i)
    store_element(slots[0].data(), DType::F32, i, i % 2 == 0 ? 2 : 0.5);
  const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  const Expectation want = Expected(nest, spans, kFirst).at({0});
  EXPECT_EQ(want.value, 1);
  EXPECT_TRUE(std::isinf(want.bound));
}

// A correct kernel may differ by what it computed on the way, wherever that is read: exp(0.25) with
// an exponent within 0.5 and a quotient whose divisor is within 0.25 of 1.
TEST(Expected, OperandsOfPostOpsCarryTheirErrors) {
  const Nest nest = parse_nest(R"(nest map {
  index x 1
  slot 0 f32 1, 1 f32 1, 2 f32 1
  acc f32 = assign
  out 2 + 0 [x:1*1]
  extra 0 + 0 [x:1*1]
  extra 1 + 0 [x:1*1]
  post exp($0) / $1
})");
  std::vector<std::vector<std::byte>> slots(3, std::vector<std::byte>(4));
  store_element(slots[0].data(), DType::F32, 0, 0.25);
  store_element(slots[1].data(), DType::F32, 0, 1);
  const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  const Expectation exact = Expected(nest, spans, kFirst).at({0});
  EXPECT_LT(exact.bound, 1e-5);
  const Expectation want = Expected(nest, spans, kFirst, 0, {{0.5}, {0.25}, {}}).at({0});
  EXPECT_EQ(want.value, exact.value);
  EXPECT_GE(want.bound, std::exp(0.75) / 0.75 - std::exp(0.25));
  EXPECT_LT(want.bound, 1.01 * (std::exp(0.75) / 0.75 - std::exp(0.25)));
}

// The same of terms: each of two may be off by its own.
TEST(Expected, InputsOfTermsCarryTheirErrors) {
  const Nest nest = parse_nest(R"(nest sum {
  index x 1 | k 2
  slot 0 f32 2, 1 f32 1, 2 f32 1
  acc f32 = sum term
  in 0 + 0 [k:2*1]
  in 1 + 0 [x:1*1]
  term exp($0 - $1)
  out 2 + 0 [x:1*1]
  post acc
})");
  std::vector<std::vector<std::byte>> slots = {std::vector<std::byte>(8), std::vector<std::byte>(4),
                                               std::vector<std::byte>(4)};
  store_element(slots[0].data(), DType::F32, 1, 1);
  store_element(slots[1].data(), DType::F32, 0, 1);
  const std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  const double value = std::exp(-1) + 1;
  const Expectation want = Expected(nest, spans, kFirst, 0, {{0.25, 0}, {0.125}, {}}).at({0});
  EXPECT_NEAR(want.value, value, 1e-6);
  const double most = std::exp(-0.625) + std::exp(0.125) - value;
  EXPECT_GE(want.bound, most);
  EXPECT_LT(want.bound, 1.01 * most);
}

} // namespace
} // namespace tilefuse::nest
