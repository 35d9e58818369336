// SPDX-License-Identifier: Apache-2.0
// Which groups are classes of one statement.
#include "launch/classes.h"

#include <gtest/gtest.h>

namespace tilefuse::launch {
namespace {

// Every other element of 8 from `first` on, twice those of 4.
poly::PlacedGroup half(int first) {
  const std::string text = "nest half {\n index x 4\n slot 0 f32 4, 1 f32 8\n acc f32 = assign\n"
                           " out 1 + 0 [2*x + " +
                           std::to_string(first) +
                           ":8*1]\n extra 0 + 0 [x:4*1]\n post f32($0 * 2)\n}\n";
  return {.group = {nest::parse_nest(text), {}},
          .buffers = {program::BufferId{0}, program::BufferId{1}},
          .origin = "half",
          .notes = {},
          .statement = 3};
}

TEST(Classes, OfOneStatementAndOneTensor) { EXPECT_TRUE(are_classes(half(0), half(1))); }

TEST(Classes, OriginsSayNothing) {
  poly::PlacedGroup other = half(1);
  other.origin = "map + half";
  EXPECT_TRUE(are_classes(half(0), other));
  other = half(1);
  other.statement = 4;
  EXPECT_FALSE(are_classes(half(0), other));
  poly::PlacedGroup first = half(0);
  first.statement = other.statement = -1;
  EXPECT_FALSE(are_classes(first, other));
}

TEST(Classes, OtherTensorsAndWindows) {
  poly::PlacedGroup other = half(1);
  other.buffers[1] = program::BufferId{2};
  EXPECT_FALSE(are_classes(half(0), other));
  other = half(1);
  other.group.anchor.out.offset = 8;
  EXPECT_FALSE(are_classes(half(0), other));
  other = half(1);
  other.group.anchor.out.dims[0].stride = 2;
  EXPECT_FALSE(are_classes(half(0), other));
}

TEST(Classes, NoneReadsWhatAnotherWrites) {
  poly::PlacedGroup other = half(1);
  other.buffers[0] = other.buffers[1];
  EXPECT_FALSE(are_classes(half(0), other));
  EXPECT_FALSE(are_classes(other, half(0)));
}

} // namespace
} // namespace tilefuse::launch
