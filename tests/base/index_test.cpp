// SPDX-License-Identifier: Apache-2.0
#include "base/index.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace tilefuse {
namespace {

enum class RoomId : int {};
enum class DoorId : int {};
enum class Narrow : std::uint8_t {};

TEST(Index, NamesAndNumbersSubscriptContainers) {
  const std::vector<int> squares = {0, 1, 4, 9};
  EXPECT_EQ(squares[at(RoomId{3})], 9);
  EXPECT_EQ(squares[at(2)], 4);
  EXPECT_EQ(squares[at(std::int64_t{1})], 1);
  static_assert(std::is_same_v<decltype(at(RoomId{})), std::size_t>);
}

TEST(Index, NamesGiveTheirNumberAndCompare) {
  EXPECT_EQ(to_int(DoorId{7}), 7);
  EXPECT_LT(DoorId{1}, DoorId{2});
  EXPECT_EQ(RoomId{}, RoomId{0});
}

TEST(Index, NumbersAndNamesOfOtherPlacesAreNotNames) {
  static_assert(Id<RoomId> && Id<DoorId>);
  static_assert(!Id<int> && !Id<Narrow>);
  static_assert(!std::is_convertible_v<int, RoomId>);
  static_assert(!std::is_convertible_v<RoomId, int>);
  static_assert(!std::is_convertible_v<RoomId, DoorId>);
}

} // namespace
} // namespace tilefuse
