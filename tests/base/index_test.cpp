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

TEST(Index, NamesOfNeighboursAreARange) {
  std::vector<int> numbers;
  for (const RoomId room : ids<RoomId>(3))
    numbers.push_back(to_int(room));
  for (const RoomId room : Ids<RoomId>(1, 3).reversed())
    numbers.push_back(to_int(room));
  EXPECT_EQ(numbers, (std::vector<int>{0, 1, 2, 2, 1}));
  EXPECT_EQ(Ids<RoomId>(1, 3).size(), 2u);
  EXPECT_EQ(Ids<RoomId>(1, 3).reversed().size(), 2u);
  EXPECT_TRUE(Ids<RoomId>(3, 1).empty());
}

TEST(Index, IndexedVectorsTakeTheirNamesAlone) {
  Indexed<RoomId, int> areas = std::vector<int>{10, 20};
  EXPECT_EQ(areas.next_id(), RoomId{2});
  areas.push_back(30);
  areas[RoomId{1}] += 5;
  int sum = 0;
  for (const RoomId room : areas.ids())
    sum += areas[room];
  EXPECT_EQ(sum, 65);
  EXPECT_EQ(areas, (Indexed<RoomId, int>{10, 25, 30}));
  const auto takes = []<typename Name>(Name name) {
    return requires(Indexed<RoomId, int> rooms) { rooms[name]; };
  };
  EXPECT_TRUE(takes(RoomId{}));
  EXPECT_FALSE(takes(DoorId{}));
}

} // namespace
} // namespace tilefuse
