// SPDX-License-Identifier: Apache-2.0
#include "nest/index.h"

#include <gtest/gtest.h>

#include "base/divide.h"
#include "nest/points.h"

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

TEST(NestIndex, IndicesTakenAsOneNumber) {
  const Nest nest = parse_nest(R"(nest copy {
    index n 2, y 3, x 5
    slot 0 f32 30, 1 f32 36
    acc f32 = sum
    in 0 + 0 [n:2*15, y:3*5, x:5*1]
    out 1 + 0 [n:2*18, y:3*6, x:5*1]
    post acc
  })");
  const auto flat = [&](const Operand &operand) {
    return nest::flat(operand, nest.indices.size());
  };
  const std::vector<IndexId> all = {IndexId{0}, IndexId{1}, IndexId{2}};
  EXPECT_EQ(points_of(nest, all), 30);
  EXPECT_EQ(points_of(nest, reduced_indices(nest)), 1);
  EXPECT_TRUE(lie_as_one(nest, flat(nest.inputs[0]), all));
  EXPECT_FALSE(lie_as_one(nest, flat(nest.out), all)); // a row of it ends with a gap
  EXPECT_TRUE(lie_as_one(nest, flat(nest.out), {IndexId{0}, IndexId{1}}));
  EXPECT_EQ(ceil_div(30, 8), 4);
  EXPECT_EQ(round_up(30, 8), 32);
  EXPECT_EQ(round_up(32, 8), 32);
}

} // namespace
} // namespace tilefuse::nest
