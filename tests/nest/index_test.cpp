// SPDX-License-Identifier: Apache-2.0
#include "nest/index.h"

#include <gtest/gtest.h>

namespace tilefuse::nest {
namespace {

TEST(NestIndex, SaysHowLongItIsAndWhatItMoves) {
  const Nest nest = parse_nest(R"(nest conv {
    index m 4, x 6 | r 3
    slot 0 f16 8, 1 f16 12, 2 f32 24
    acc f32 = sum mul
    in 0 + 0 [x + r:8*1]
    in 1 + 0 const [m:4*3, r:3*1]
    out 2 + 0 [m:4*6, x:6*1]
    post acc
  })");
  EXPECT_EQ(extent(nest, 0), 4);
  EXPECT_EQ(extent(nest, std::size_t{2}), 3);
  EXPECT_FALSE(moves(nest.inputs[0], 0));
  EXPECT_TRUE(moves(nest.inputs[0], 1));
  EXPECT_TRUE(moves(nest.inputs[0], 2));
  EXPECT_TRUE(moves(nest.inputs[1], 0));
  EXPECT_FALSE(moves(nest.out, 2));
  EXPECT_EQ(type_of(nest, nest.inputs[0]), DType::F16);
  EXPECT_EQ(slot_of(nest, nest.out).elems, 24);
}

} // namespace
} // namespace tilefuse::nest
