// SPDX-License-Identifier: Apache-2.0
// How work-items copy is set by search from the rest of a schedule: as wide as the copy may be,
// written out and held while rounds are few and registers are there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/copies.h"
#include "search/forms/named_schedule.h"
#include "search/neighbours.h"
#include "search/pick.h"
#include "search/sample.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using schedule::Pipe;
using schedule::Rounds;
using schedule::Schedule;

// The input that is staged lies in rows of `row` elements.
nest::Nest product(std::int64_t row) {
  return nest::parse_nest(fmt::format(R"(nest gemm {{
  index m 64, x 64 | c 64
  slot 0 f32 {}, 1 f32 4096, 2 f32 4096
  acc f32 = sum mul
  in 0 + 0 [c:64*{}, x:64*1]
  in 1 + 0 [m:64*64, c:64*1]
  out 2 + 0 [m:64*64, x:64*1]
  post acc
}})",
                                      64 * row, row));
}

// Stages 512 elements by so many work-items.
Schedule staged(const nest::Nest &nest, int items, const std::string &how = {}) {
  return schedule::parse_schedule(nest, fmt::format(R"(schedule staged workitem
  tile   m:16 x:32 c:16
  lane   m:{}
  reg    m:{} x:32
  loop   m x c
  stage  0 at c {}
)",
                                                    items, 16 / items, how));
}

Pipe assigned(const nest::Nest &nest, Schedule schedule, int registers = 255) {
  Target target = testing::target_row("opencl_nvidia");
  target.vector_registers = registers;
  EXPECT_EQ(search::assign_copies(nest, schedule, target), std::nullopt);
  EXPECT_EQ(schedule::illegal(nest, schedule, target), std::nullopt);
  return schedule.pipes[0];
}

TEST(Copies, AreAsWideAsTheirMemoryAllows) {
  for (const auto &[row, width] : {std::pair{64, 4}, {66, 2}, {65, 1}}) {
    const nest::Nest nest = product(row);
    EXPECT_EQ(assigned(nest, staged(nest, 16)).width, width);
  }
}

// 512 elements by 16, 4, 2 and 1 work-items, by 4: of each round two offsets.
TEST(Copies, AreWrittenOutAndHeldWhileThereIsRoom) {
  const nest::Nest nest = product(64);
  EXPECT_EQ(assigned(nest, staged(nest, 16)).rounds, Rounds::Held);
  EXPECT_EQ(assigned(nest, staged(nest, 16), 2).rounds, Rounds::Unrolled);
  EXPECT_EQ(assigned(nest, staged(nest, 4)).rounds, Rounds::Held);
  EXPECT_EQ(assigned(nest, staged(nest, 2)).rounds, Rounds::Loop);
  EXPECT_EQ(assigned(nest, staged(nest, 2), 256).rounds, Rounds::Held);
  EXPECT_EQ(assigned(nest, staged(nest, 1), 1024).rounds, Rounds::Loop);
}

TEST(Copies, AreSetWhateverTheyWere) {
  const nest::Nest nest = product(65);
  const Pipe plain = assigned(nest, staged(nest, 16));
  EXPECT_EQ(assigned(nest, staged(nest, 16, "width 4 unroll")), plain);
  EXPECT_EQ(assigned(nest, staged(nest, 16, "hold")), plain);
}

TEST(Copies, ArePlainWhereTheRestIsNotLegal) {
  const nest::Nest nest = product(64);
  Schedule schedule = staged(nest, 16, "width 4 hold");
  Target target = testing::target_row("opencl_nvidia");
  target.local_bytes = 16;
  EXPECT_EQ(search::assign_copies(nest, schedule, target),
            "staging needs 2048 bytes per block, the target has 16");
  EXPECT_TRUE(schedule.pipes[0].copies_plainly());
}

// Setting them again changes nothing.
void expect_assigned(const nest::Nest &nest, const Schedule &schedule, const Target &target) {
  Schedule again = schedule;
  EXPECT_EQ(search::assign_copies(nest, again, target), std::nullopt);
  EXPECT_EQ(again, schedule) << schedule::to_text(nest, schedule);
}

TEST(Copies, EverySourceOfSchedulesSetsThem) {
  const nest::Nest nest = product(64);
  const Target target = testing::target_row("opencl_nvidia");
  const Schedule igemm = search::named_schedule("igemm", nest, target).schedule.value();
  EXPECT_FALSE(igemm.pipes[0].copies_plainly());
  expect_assigned(nest, igemm, target);
  for (const search::Candidate &candidate : search::candidates(nest, target, 200))
    expect_assigned(nest, candidate.schedule, target);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    if (const auto drawn = search::sample(nest, target, random))
      expect_assigned(nest, *drawn, target);
    if (const auto changed = search::neighbour(nest, target, igemm, random))
      expect_assigned(nest, *changed, target);
  }
}

} // namespace
} // namespace tilefuse
