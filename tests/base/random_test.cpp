// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tilefuse {
namespace {

TEST(Random, IsTheSameEverywhere) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u); // of the published splitmix64
  EXPECT_EQ(random.next(), 3203168211198807973u);
}

TEST(Random, StaysInRangeAndReachesBothEnds) {
  Random random(1);
  std::array<int, 3> counts{};
  for (int i = 0; i < 300; ++i)
    ++counts.at(static_cast<std::size_t>(random.between(-1, 1) + 1));
  for (int count : counts)
    EXPECT_GT(count, 50);
  EXPECT_EQ(random.between(5, 5), 5);
  random.between(std::numeric_limits<std::int64_t>::min(),
                 std::numeric_limits<std::int64_t>::max());
}

TEST(Random, TapeIsReadAndThenZeros) {
  Random random(std::vector<std::uint32_t>{7, 1});
  EXPECT_EQ(random.between(10, 14), 12);
  EXPECT_EQ(random.of({"a", "b"}), std::string("b"));
  EXPECT_EQ(random.between(3, 9), 3);
  EXPECT_FALSE(random.chance(99));
  std::vector<int> order = {1, 2, 3};
  random.shuffle(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

} // namespace
} // namespace tilefuse
