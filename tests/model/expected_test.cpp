// SPDX-License-Identifier: Apache-2.0
// Bounds of what correct kernels may store.
#include <gtest/gtest.h>

#include <cmath>

#include "model/oracle/expected.h"

namespace tilefuse::nest {
namespace {

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
  const Expectation want = Expected(nest, spans).at({0});
  EXPECT_EQ(want.value, 0.625 + 0x1p-11);
  EXPECT_LE(std::fabs(0.625 - want.value), want.bound);
  EXPECT_LT(want.bound, 0x1p-10); // two units are wrong
}

} // namespace
} // namespace tilefuse::nest
