// SPDX-License-Identifier: Apache-2.0
// Two products with rows between them in one kernel (poly/row_group.h): a program's softmax between
// two products is found, one schedule after the other gives on the simulator what the evaluator
// does, and what does not fit is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "model/attention.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "poly/row_group.h"
#include "schedule/members.h"
#include "search/forms/row_product_forms.h"

namespace tilefuse::model {
namespace {

void expect_right(const poly::Group &group, const schedule::Schedule &schedule,
                  const Target &target = sm80()) {
  const KernelCase kernel_case{
      .group = group, .schedule = schedule, .target = target, .values = Values::Reals, .seed = 3};
  const auto divergence = check_simulated(Reference(kernel_case));
  EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                           << to_text(kernel_case);
}

poly::Group group_of(const Attention &p) {
  std::vector<poly::PlacedGroup> groups = groups_of(p, h200());
  EXPECT_EQ(groups.size(), 1) << p.rows << " x " << p.keys << "\n"
                              << fmt::format("{}", fmt::join(groups.back().notes, "\n"));
  return groups.back().group;
}

TEST(Rows, SoftmaxBetweenProductsIsOneKernel) {
  for (const Attention &p :
       {Attention{.batch = 1, .heads = 2},
        {.batch = 1, .heads = 2, .rows = 49, .keys = 49, .depth = 32, .values = 32},
        {.batch = 1, .heads = 1, .rows = 5, .keys = 100},
        {.batch = 1, .heads = 1, .rows = 70, .keys = 16},
        {.batch = 1, .heads = 1, .rows = 33, .keys = 90, .type = DType::BF16}}) {
    const poly::Group group = group_of(p);
    ASSERT_TRUE(has_rows(group)) << to_text(group);
    EXPECT_EQ(poly::parse_group(to_text(group)), group);
    EXPECT_EQ(poly::row_keys(group), p.keys);
    const std::vector<schedule::Schedule> all = search::row_product_schedules(group, sm80());
    EXPECT_GE(all.size(), 4);
    for (const schedule::Schedule &schedule : all) {
      EXPECT_EQ(schedule::parse_schedule(group, to_text(group, schedule)), schedule);
      expect_right(group, schedule);
    }
  }
}

// Those in which so many warps share each row.
std::vector<schedule::Schedule> shared(std::vector<schedule::Schedule> all, std::int64_t sharers) {
  std::erase_if(all,
                [&](const schedule::Schedule &each) { return each.core.warp_columns != sharers; });
  return all;
}

// Keys that fill no warp's share, heads of both widths, values that leave columns empty.
TEST(Rows, WarpsShareKeys) {
  struct Case {
    Attention of;
    std::vector<std::int64_t> sharers; // with which schedules are legal
  };
  for (const auto &[of, sharers] :
       {Case{{.batch = 1, .heads = 1, .rows = 18, .keys = 730, .depth = 32, .values = 32}, {4}},
        {{.batch = 1, .heads = 1, .rows = 18, .keys = 577, .type = DType::BF16}, {2, 4}},
        {{.batch = 1, .heads = 2, .rows = 33, .keys = 50}, {1, 2, 4, 8}},
        {{.batch = 1, .heads = 1, .rows = 20, .keys = 300, .depth = 32, .values = 48}, {2, 4}}}) {
    const poly::Group group = group_of(of);
    ASSERT_TRUE(has_rows(group)) << to_text(group);
    const std::vector<schedule::Schedule> all = search::row_product_schedules(group, h200());
    for (const std::int64_t count : sharers) {
      const std::vector<schedule::Schedule> some = shared(all, count);
      ASSERT_FALSE(some.empty()) << of.keys << " keys, " << count << " warps";
      expect_right(group, some.front(), h200());
      expect_right(group, some.back(), h200());
    }
  }
}

// A mask's map has rows and keys as one number.
TEST(Rows, MaskedWindows) {
  using Counts = std::vector<std::int64_t>;
  for (const auto &[keys, type, counts] :
       {std::tuple(64, DType::F16, Counts{1, 4}), {50, DType::BF16, Counts{2}}})
    for (const poly::PlacedGroup &placed : groups_of(kMasked,
                                                     {{6, 3, keys, 32},
                                                      {6, 3, keys, 32},
                                                      {6, 3, keys, 32},
                                                      {3, keys, keys},
                                                      {3},
                                                      {3, keys, keys}},
                                                     type, h200())) {
      const std::vector<schedule::Schedule> all =
          search::row_product_schedules(placed.group, sm80());
      for (const std::int64_t sharers : counts) {
        const std::vector<schedule::Schedule> some = shared(all, sharers);
        ASSERT_FALSE(some.empty());
        expect_right(placed.group, some.front());
      }
    }
}

TEST(Rows, LongRowsAndOtherTargetsAreRefused) {
  EXPECT_GT(groups_of({.keys = 1000}, h200()).size(), 1);
  Target cpu = h200();
  cpu.features = {};
  EXPECT_GT(groups_of({}, cpu).size(), 1);
  const poly::Group group = group_of({});
  schedule::Schedule schedule = search::row_product_schedules(group, sm80()).front();
  Target few = sm80();
  few.vector_registers = 64;
  EXPECT_NE(illegal(group, schedule, few).value_or("").find("row.registers"), std::string::npos);
  schedule.core.warp_columns = 2;
  EXPECT_TRUE(illegal(group, schedule, sm80()));
}

// Each rule of a group with rows.
TEST(Rows, WhatIsNoRowsIsNamed) {
  const poly::Group group = group_of({});
  const auto broken = [&](const auto &change) {
    poly::Group changed = group;
    change(changed);
    return poly::broken_rule(changed).value_or("");
  };
  EXPECT_EQ(broken([](poly::Group &) {}), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers.back().stored = true; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers.back().feed = poly::Feed::Map; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers[1].input = 0; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.anchor.agg = program::Agg::Max; }), "");
  EXPECT_NE(broken([](poly::Group &g) { std::swap(g.producers[1], g.producers[2]); }), "");
}

} // namespace
} // namespace tilefuse::model
