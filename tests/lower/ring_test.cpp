// SPDX-License-Identifier: Apache-2.0
// Rings that asynchronous copies fill: more buffers than chunks, chunks of several indices,
// padding, vectors and single elements, against the nest evaluator; the simulator sees reads of
// what was not waited for. What cannot be copied so is refused with a reason.
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/walk.h"
#include "lower/algorithm_cases.h"
#include "lower/pipeline.h"

namespace tilefuse {
namespace {

nest::Nest conv_nest() {
  return nest::parse_nest(R"(nest conv {
    index n 1, y 5, x 7, m 24 | c 12, r 3, s 3
    slot 0 f32 420, 1 f32 2592, 2 f32 840
    acc f32 = sum mul
    in 0 + 0 [n:1*420, y + r - 1:5?*84, x + s - 1:7?*12, c:12*1]
    in 1 + 0 const [m:24*108, c:12*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*840, y:5*168, x:7*24, m:24*1]
    post acc
  })");
}

std::string schedule_text(const std::string &chunks, const std::string &ends) {
  return fmt::format("schedule ring workitem\n  tile n:1 y:2 x:4 m:16 {}\n  lane y:2 x:4 m:4\n"
                     "  vec m:4\n  loop n y x m c r s\n{}",
                     chunks, ends);
}

void expect_exact(const nest::Nest &nest, const schedule::Schedule &schedule) {
  SCOPED_TRACE(nest::to_text(nest) + schedule::to_text(nest, schedule));
  const Target target = testing::group_test_target();
  ASSERT_EQ(schedule::illegal(nest, schedule, target), std::nullopt);
  ASSERT_EQ(schedule::parse_schedule(nest, schedule::to_text(nest, schedule)), schedule);
  testing::Random random(3);
  const auto slots = testing::integer_slots(random, nest);
  EXPECT_EQ(testing::simulated(nest, schedule, target, slots), testing::evaluated(nest, slots));
}

TEST(Ring, EveryDepthComputesItsNest) {
  const nest::Nest nest = conv_nest();
  for (const char *chunks : {"c:4", "c:12 r:1", "c:4 r:1 s:1"})
    for (const int ring : {2, 3, 8})
      for (const char *layout : {"", "turned ", "odd "}) {
        const std::string inner = std::string(chunks).find('s') != std::string::npos   ? "s"
                                  : std::string(chunks).find('r') != std::string::npos ? "r"
                                                                                       : "c";
        std::string ends;
        for (const int input : {0, 1})
          ends += fmt::format("  stage {} at {} {}ring {}\n", input, inner, layout, ring);
        ends += ring == 3 ? "  pack 1\n" : "";
        expect_exact(nest, schedule::parse_schedule(nest, schedule_text(chunks, ends)));
      }
}

TEST(Ring, OneInputAloneAndBesideOthers) {
  const nest::Nest nest = conv_nest();
  for (const char *ends : {"  stage 0 at c ring 3\n", "  stage 1 at c ring 3\n  stage 0\n",
                           "  stage 1 at c turned ring 2\n  pack 1\n"})
    expect_exact(nest, schedule::parse_schedule(nest, schedule_text("c:4", ends)));
  expect_exact(nest,
               schedule::parse_schedule(
                   nest, schedule_text("c:4 r:1", "  stage 0 at c\n  stage 1 at r ring 3\n")));
}

// Copies that are neighbours, of a channel by vectors, of a pixel whose taps overlap, and past the
// edge.
TEST(Near, CopiesOfWorkItemsComputeTheirNest) {
  const nest::Nest nest = conv_nest();
  for (const char *tiles :
       {"tile n:1 y:2 x:8 m:16 c:4\n lane y:2 x:2 m:4\n vec m:4\n keep x:4\n near x",
        "tile n:1 y:4 x:6 m:32 c:6\n lane y:2 x:2 m:4\n vec m:4\n keep y:2 x:3 m:2\n"
        " near y x m",
        "tile n:1 y:1 x:16 m:24 c:6\n lane x:4 m:8\n keep x:4 m:3 s:3\n near x m"})
    for (const char *ends : {"stage 0 at c turned ring 2\n pack 1\n stage 1 at c ring 2\n",
                             "stage 0\n stage 1 turned\n", ""})
      expect_exact(nest,
                   schedule::parse_schedule(
                       nest, fmt::format("schedule near workitem\n {}\n loop n y x m c r s\n {}",
                                         tiles, ends)));
}

std::string reason(const nest::Nest &nest, const std::string &ends, const Target &target) {
  const std::string text = schedule_text("c:4", ends);
  return schedule::illegal(nest, schedule::parse_schedule(nest, text), target).value_or("");
}

TEST(Ring, RefusalsSayWhy) {
  const nest::Nest nest = conv_nest();
  const Target target = testing::group_test_target();
  EXPECT_EQ(reason(nest, "  stage 0 at c ring 9\n", target),
            "input 0 is staged with a ring of 9 buffers; need 2 to 8");
  EXPECT_EQ(reason(nest, "  stage 0 at c ring 3\n  stage 1 at c twice\n", target),
            "input 0 is staged ring 3 and input 1 otherwise in the same loop");
  EXPECT_EQ(reason(nest, "  stage 0 ring 3\n", target),
            "input 0 is staged ring 3 outside the innermost chunk loop");
  Target other = target;
  other.isa = "CL1.2";
  EXPECT_EQ(reason(nest, "  stage 0 at c ring 3\n", other),
            "input 0 is staged by asynchronous copies, which the target lacks");
  other.isa = "CL1.2 sm_75";
  EXPECT_FALSE(reason(nest, "  stage 0 at c ring 3\n", other).empty());
  other.isa = "sm_90a";
  EXPECT_EQ(reason(nest, "  stage 0 at c ring 3\n", other), "");
  nest::Nest half = nest;
  half.slots[0].type = DType::F16;
  EXPECT_EQ(reason(half, "  stage 0 at c ring 3\n", target),
            "input 0 is converted as it is staged, which no asynchronous copy does");
  EXPECT_THROW(schedule::parse_schedule(nest, schedule_text("c:4", "  stage 0 at c ring 0")),
               Error);
}

// Vectors where the tile keeps them together, each element alone where it does not.
TEST(Ring, CopiesAreAsWideAsTheyCanBe) {
  const nest::Nest nest = conv_nest();
  const auto widths_of = [&](const std::string &ends) {
    const kernel::Kernel kernel =
        lower::lower({.anchor = nest}, schedule::parse_schedule(nest, schedule_text("c:4", ends)),
                     testing::group_test_target());
    std::set<int> widths;
    kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
      if (const auto *copy = std::get_if<kernel::AsyncCopy>(&stmt->node))
        widths.insert(copy->elems);
    });
    return widths;
  };
  EXPECT_EQ(widths_of("  stage 0 at c ring 3\n"), (std::set<int>{4}));
  EXPECT_EQ(widths_of("  stage 0 at c turned ring 3\n"), (std::set<int>{1}));
  EXPECT_EQ(widths_of("  stage 1 at c ring 3\n  pack 1\n"), (std::set<int>{4}));
}

} // namespace
} // namespace tilefuse
