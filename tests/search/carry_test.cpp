// SPDX-License-Identifier: Apache-2.0
#include "search/carry.h"

#include <gtest/gtest.h>

#include "nest/flatten/split.h"
#include "schedule/text.h"

namespace tilefuse {
namespace {

const nest::Nest &layer() {
  static const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index m 64, y 28, x 28 | c 64, r 3, s 3
    slot 0 f32 50176, 1 f32 36864, 2 f32 50176
    acc f32 = sum mul
    in 0 + 0 [c:64*1, y + r - 1:28?*1792, x + s - 1:28?*64]
    in 1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
    out 2 + 0 [m:64*1, y:28*1792, x:28*64]
    post acc
  })");
  return nest;
}

const nest::IndexId kC{3};
const nest::IndexId kR{4};

nest::Nest partial(const nest::ReductionSplit &split) {
  return nest::split_reduction(layer(), split).partial;
}

schedule::Schedule items(const char *loop, const char *stage) {
  return schedule::parse_schedule(layer(),
                                  std::string("schedule s workitem\n  tile   y:4 x:8 m:32 c:16\n"
                                              "  lane   y:4 m:32\n  reg    x:4\n  loop   ") +
                                      loop + "\n  stage  0 at " + stage + "\n");
}

TEST(Carry, PartsAreOutermostAndChunksNoLongerThanTheyAre) {
  const nest::Nest to = partial({{kC, 8}});
  const auto carried = search::carry(layer(), items("y x m r s c", "c"), to);
  ASSERT_TRUE(carried);
  EXPECT_EQ(schedule::to_text(to, *carried), R"(schedule s workitem
  tile   cp:1 m:32 y:4 x:8
  lane   y:4 m:32
  reg    x:4
  loop   cp y x m r s c
  stage  0 at c
)");
}

TEST(Carry, NothingWhereAFillBelongsToAnIndexThatIsGone) {
  EXPECT_FALSE(search::carry(layer(), items("y x m r s c", "r"), partial({{kR, 3}})));
}

} // namespace
} // namespace tilefuse
