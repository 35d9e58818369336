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
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/copies.h"

namespace tilefuse {
namespace {

// Copied plainly, and as search would have it.
void expect_exact(const nest::Nest &nest, schedule::Schedule schedule) {
  testing::expect_exact(nest, schedule, testing::group_test_target());
  ASSERT_EQ(search::assign_copies(nest, schedule, testing::group_test_target()), std::nullopt);
  testing::expect_exact(nest, schedule, testing::group_test_target());
}

std::string schedule_text(const std::string &chunks, const std::string &ends) {
  return fmt::format("schedule ring workitem\n  tile n:1 y:2 x:4 m:16 {}\n  lane y:2 x:4 m:4\n"
                     "  vec m:4\n  loop n y x m c r s\n{}",
                     chunks, ends);
}

TEST(Ring, EveryDepthComputesItsNest) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *chunks : {"c:4", "c:12 r:1", "c:4 r:1 s:1"})
    for (const int ring : {2, 3, 8})
      for (const char *layout : {"", "transposed ", "odd "}) {
        const std::string inner = std::string(chunks).find('s') != std::string::npos   ? "s"
                                  : std::string(chunks).find('r') != std::string::npos ? "r"
                                                                                       : "c";
        std::string ends;
        for (const int input : {0, 1})
          ends +=
              fmt::format("  stage {} at {} {}cp_async stages {}\n", input, inner, layout, ring);
        ends += ring == 3 ? "  pack 1\n" : "";
        expect_exact(nest, schedule::parse_schedule(nest, schedule_text(chunks, ends)));
      }
}

TEST(Ring, OneInputAloneAndBesideOthers) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *ends :
       {"  stage 0 at c cp_async stages 3\n", "  stage 1 at c cp_async stages 3\n  stage 0\n",
        "  stage 1 at c transposed cp_async stages 2\n  pack 1\n"})
    expect_exact(nest, schedule::parse_schedule(nest, schedule_text("c:4", ends)));
  expect_exact(
      nest,
      schedule::parse_schedule(
          nest, schedule_text("c:4 r:1", "  stage 0 at c\n  stage 1 at r cp_async stages 3\n")));
}

// Copies that are neighbours, of a channel by vectors, of a pixel whose taps overlap, and past the
// edge.
TEST(Near, CopiesOfWorkItemsComputeTheirNest) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *tiles :
       {"tile n:1 y:2 x:8 m:16 c:4\n lane y:2 x:2 m:4\n vec m:4\n reg x:4\n near x",
        "tile n:1 y:4 x:6 m:32 c:6\n lane y:2 x:2 m:4\n vec m:4\n reg y:2 x:3 m:2\n"
        " near y x m",
        "tile n:1 y:1 x:16 m:24 c:6\n lane x:4 m:8\n reg x:4 m:3 s:3\n near x m"})
    for (const char *ends :
         {"stage 0 at c transposed cp_async stages 2\n pack 1\n stage 1 at c cp_async stages 2\n",
          "stage 0\n stage 1 transposed\n", ""})
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
  const nest::Nest nest = testing::padded_conv();
  const Target target = testing::group_test_target();
  EXPECT_EQ(reason(nest, "  stage 0 at c cp_async stages 9\n", target),
            "input 0 is staged by asynchronous copies in 9 buffers; need 2 to 8");
  EXPECT_EQ(reason(nest, "  stage 0 at c cp_async stages 3\n  stage 1 at c stages 2\n", target),
            "input 0 is staged by asynchronous copies and input 1 otherwise in the same loop");
  EXPECT_EQ(reason(nest, "  stage 0 cp_async stages 3\n", target),
            "input 0 is staged by asynchronous copies outside the innermost chunk loop");
  Target other = target;
  other.features = other.features.without({Feature::AsyncCopies});
  EXPECT_EQ(reason(nest, "  stage 0 at c cp_async stages 3\n", other),
            "input 0 is staged by asynchronous copies, which the target lacks");
  nest::Nest half = nest;
  half.slots[0].type = DType::F16;
  EXPECT_EQ(reason(half, "  stage 0 at c cp_async stages 3\n", target),
            "input 0 is converted as it is staged, which no asynchronous copy does");
  EXPECT_THROW(
      schedule::parse_schedule(nest, schedule_text("c:4", "  stage 0 at c cp_async stages 0")),
      Error);
}

// Vectors where the tile keeps them together, each element alone where it does not.
TEST(Ring, CopiesAreAsWideAsTheyCanBe) {
  const nest::Nest nest = testing::padded_conv();
  const auto widths_of = [&](const std::string &ends) {
    const Target target = testing::group_test_target();
    schedule::Schedule schedule = schedule::parse_schedule(nest, schedule_text("c:4", ends));
    EXPECT_EQ(search::assign_copies(nest, schedule, target), std::nullopt);
    const kernel::Kernel kernel = lower::lower({.anchor = nest}, schedule, target);
    std::set<int> widths;
    kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
      if (const auto *copy = kernel::get_intrinsic<kernel::AsyncCopy>(stmt))
        widths.insert(copy->elems);
    });
    return widths;
  };
  EXPECT_EQ(widths_of("  stage 0 at c cp_async stages 3\n"), (std::set<int>{4}));
  EXPECT_EQ(widths_of("  stage 0 at c transposed cp_async stages 3\n"), (std::set<int>{1}));
  EXPECT_EQ(widths_of("  stage 1 at c cp_async stages 3\n  pack 1\n"), (std::set<int>{4}));
}

} // namespace
} // namespace tilefuse
