// SPDX-License-Identifier: Apache-2.0
// Schedules with a core instruction: every tile of the menu computes what the nest says, simulated,
// for convolutions of any stride, dilation, padding, type and odd size; nothing meets in a bank,
// nothing is divided in the main loop, copies read whole sectors.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/check.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "nest/split.h"

namespace tilefuse::model {
namespace {

std::vector<Conv> problems() {
  std::vector<Conv> list(11);
  list[1].stride = 2;
  list[2] = {.h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0};
  list[3] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 5, .w = 11, .c = 20, .k = 17, .r = 5, .s = 2, .stride = 3};
  list[5] = {.c = 6, .k = 9}; // copies of 4 bytes
  list[6].in = "bf16";
  list[7] = {.c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"};
  list[8] = {.c = 100, .k = 33, .in = "u8", .out = "f32", .acc = "i32", .post = "f32(acc) * $0"};
  list[9] = {.c = 12, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"};
  list[10] = {.n = 2, .h = 14, .w = 14, .c = 136, .k = 200};
  return list;
}

// A tensor core rounds f32 operands to tf32, which small integers survive.
std::vector<schedule::Schedule> schedules_of(const nest::Nest &nest, const Target &target) {
  std::vector<schedule::Schedule> all = schedule::core_schedules(nest, target, false);
  return all.empty() ? schedule::core_schedules(nest, target, true) : all;
}

TEST(Core, EveryTileComputesItsNest) {
  int checked = 0;
  for (const Conv &problem : problems()) {
    KernelCase kernel_case{.group = group_of(problem), .target = sm80(), .seed = 7};
    const auto all = schedules_of(kernel_case.group.anchor, kernel_case.target);
    ASSERT_FALSE(all.empty()) << to_text(kernel_case.group.anchor);
    for (std::size_t i = 0; i < all.size(); i += 12) {
      kernel_case.schedule = all[i];
      const auto divergence = check_simulated(Reference(kernel_case));
      EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                               << to_text(kernel_case);
      ++checked;
    }
  }
  EXPECT_GE(checked, 25);
}

// The partial nest of a split reduction has an output index more, and stores accumulators.
TEST(Core, SplitReductionsStoreAccumulators) {
  int checked = 0;
  for (const auto &[problem, split] :
       {std::pair{Conv{.c = 64}, "r:3"},
        {Conv{.c = 128, .k = 40, .stride = 2}, "c:4"},
        {Conv{.c = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
         "r:3 s:3"}}) {
    const nest::Nest whole = group_of(problem).anchor;
    KernelCase kernel_case{.target = sm80(), .seed = 7};
    kernel_case.group.anchor =
        nest::split_reduction(whole, nest::parse_split(whole, split)).partial;
    const auto all = schedules_of(kernel_case.group.anchor, kernel_case.target);
    ASSERT_FALSE(all.empty()) << to_text(kernel_case.group.anchor);
    for (std::size_t i = 0; i < all.size(); i += 12, ++checked) {
      kernel_case.schedule = all[i];
      const auto divergence = check_simulated(Reference(kernel_case));
      EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                               << to_text(kernel_case);
    }
  }
  EXPECT_GE(checked, 5);
}

TEST(Core, RealsStayWithinTheirBound) {
  KernelCase kernel_case{.group = group_of({.c = 96, .k = 40}), .target = sm80()};
  kernel_case.values = Values::Reals;
  kernel_case.schedule =
      *schedule::named_core_schedule("mma", kernel_case.group.anchor, kernel_case.target).schedule;
  const auto divergence = check_simulated(Reference(kernel_case));
  EXPECT_FALSE(divergence) << divergence->what;
}

// The five properties of MegEngine's kernel.
TEST(Core, NothingMeetsInABank) {
  for (const Conv &problem :
       {Conv{.c = 64, .k = 64},
        Conv{.c = 32, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
        Conv{.c = 16, .k = 64}}) {
    const poly::Group group = group_of(problem);
    const Target target = sm80();
    for (const schedule::Schedule &schedule : schedules_of(group.anchor, target)) {
      EXPECT_EQ(bank_conflicts(counts_of(group, schedule, target)), "")
          << to_text(group.anchor, schedule);
    }
  }
}

TEST(Core, NothingIsDividedInTheMainLoop) {
  const poly::Group group = group_of({.c = 64, .k = 64, .stride = 2});
  const Target target = sm80();
  const kernel::Kernel kernel = lower::lower(
      group, *schedule::named_core_schedule("mma", group.anchor, target).schedule, target);
  const LoopCounts counts = loop_counts(kernel);
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.divisions, 0);
}

TEST(Core, RefusalsSayWhy) {
  const Target target = sm80();
  const auto refusal = [&](const poly::Group &group, std::string_view name) {
    return schedule::named_core_schedule(name, group.anchor, target).refusal;
  };
  EXPECT_EQ(refusal(group_of({.in = "f32", .out = "f32", .post = "acc + $0"}), "mma"),
            "mma does not fit: no instruction multiplies its types");
  EXPECT_EQ(refusal(group_of({.c = 7}), "mma"),
            "mma does not fit: input 0 has no aligned runs of 4 bytes along the depth");
}

} // namespace
} // namespace tilefuse::model
