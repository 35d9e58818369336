// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "schedule/legal.h"
#include "search/forms/dot_forms.h"
#include "search/neighbours.h"
#include "search/pick.h"
#include "search/sample.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using schedule::Fill;
using schedule::Schedule;

constexpr const char *kConvolution = R"(nest conv {
  index m 17, y 13, x 13 | c 3, r 3, s 3
  slot 0 f32 507, 1 f32 459, 2 f32 2873
  acc f32 = sum mul
  in 0 + 0 [c:3*169, y + r - 1:13?*13, x + s - 1:13?*1]
  in 1 + 0 const [m:17*27, c:3*9, r:3*3, s:3*1]
  out 2 + 0 [m:17*169, y:13*13, x:13*1]
  post acc
})";

Target target_of(LaneKind lanes) {
  return testing::with_row({.name = "test",
                            .lanes = lanes,
                            .max_group = lanes == LaneKind::Vector ? 1 : 256,
                            .local_bytes = 8 << 10},
                           lanes == LaneKind::Vector ? "cpu_avx2" : "opencl_gpu");
}

// What the draws of one target were seen to hold.
struct Seen {
  std::set<std::optional<nest::IndexId>> lane_indices;
  std::set<std::int64_t> widths;
  std::set<std::pair<std::size_t, Fill>> fills;
  std::set<std::vector<nest::IndexId>> orders;
  std::set<bool> divides;
  std::set<std::int64_t> copies;
};

void look(const nest::Nest &nest, const Schedule &schedule, Seen &seen) {
  seen.lane_indices.insert(lane_index(schedule));
  for (std::size_t i = 0; i < schedule.splits.size(); ++i) {
    seen.widths.insert(schedule.splits[i].lane);
    seen.copies.insert(schedule.splits[i].keep);
    seen.divides.insert(nest.indices[i].extent % schedule.splits[i].tile == 0);
  }
  for (std::size_t k = 0; k < schedule.fills.size(); ++k)
    seen.fills.insert({k, schedule.fills[k]});
  seen.orders.insert(schedule.order);
}

Seen draw_many(LaneKind lanes) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(lanes);
  Random random(1);
  Seen seen;
  for (int i = 0; i < 400; ++i) {
    const std::optional<Schedule> schedule = search::sample(nest, target, random);
    EXPECT_TRUE(schedule);
    if (!schedule)
      continue;
    const auto reason = schedule::illegal(nest, *schedule, target);
    EXPECT_FALSE(reason) << *reason;
    look(nest, *schedule, seen);
  }
  return seen;
}

std::set<std::optional<nest::IndexId>> none_or_any() {
  return {std::nullopt, nest::IndexId{0}, nest::IndexId{1}, nest::IndexId{2}};
}

TEST(Sample, CoversTheSpaceOfVectors) {
  const Seen seen = draw_many(LaneKind::Vector);
  std::set<std::optional<nest::IndexId>> lanes = none_or_any();
  lanes.insert(nest::IndexId{3}); // channels, which are reduced
  EXPECT_EQ(seen.lane_indices, lanes);
  EXPECT_EQ(seen.widths, (std::set<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(seen.orders.size(), 36u);
  EXPECT_EQ(seen.divides.size(), 2u);
  EXPECT_GE(seen.copies.size(), 8u);
  EXPECT_EQ(seen.fills.size(), 6u) << "input 0 direct, local; input 1 also packed and both";
}

TEST(Sample, CoversTheSpaceOfWorkItems) {
  const Seen seen = draw_many(LaneKind::WorkItem);
  EXPECT_EQ(seen.lane_indices, none_or_any());
  EXPECT_TRUE(seen.widths.count(256));
  EXPECT_GE(seen.widths.size(), 20u);
  EXPECT_EQ(seen.fills.size(), 6u);
}

constexpr const char *kBytes = R"(nest conv {
  index y 6, x 9, m 40 | c 15, r 3, s 3
  slot 0 u8 810, 1 i8 5400, 2 i32 2160
  acc i32 = sum mul
  in 0 + 0 [y + r - 1:6?*135, x + s - 1:9?*15, c:15*1]
  in 1 + 0 const [m:40*135, c:15*9, r:3*3, s:3*1]
  out 2 + 0 [y:6*360, x:9*40, m:40*1]
  post acc
})";

// Dot products that a schedule of the nest can have.
std::vector<const DotOp *> fitting_dots(const nest::Nest &nest, const Target &target) {
  std::vector<const DotOp *> ops;
  for (const DotRate &rate : target.dots)
    if (search::with_dots(nest, *rate.op, schedule::scalar_schedule(nest)))
      ops.push_back(rate.op);
  return ops;
}

TEST(Sample, ReachesEveryDotProductOfBytes) {
  const nest::Nest nest = nest::parse_nest(kBytes);
  const Target target = testing::target_row("cpu_avx512_amx");
  Random random(3);
  std::map<const DotOp *, std::set<std::int64_t>> widths;
  for (int i = 0; i < 200; ++i) {
    const std::optional<Schedule> schedule = search::sample(nest, target, random);
    ASSERT_TRUE(schedule);
    EXPECT_FALSE(schedule::illegal(nest, *schedule, target));
    widths[schedule->dot].insert(vector_width(*schedule));
  }
  const std::vector<const DotOp *> ops = fitting_dots(nest, target);
  EXPECT_EQ(widths.size(), ops.size() + 1) << "with each, and without";
  for (const DotOp *op : ops)
    EXPECT_EQ(widths[op], (std::set<std::int64_t>{4, 8, 16})) << op->name;
}

TEST(Sample, NeighboursTakeUpDotProductsAndDropThem) {
  const nest::Nest nest = nest::parse_nest(kBytes);
  const Target target = testing::target_row("cpu_avx512_amx");
  Random random(5);
  Schedule at = search::pick(nest, target);
  std::set<const DotOp *> seen;
  for (int i = 0; i < 300; ++i)
    if (const auto next = search::neighbour(nest, target, at, random)) {
      EXPECT_FALSE(schedule::illegal(nest, *next, target));
      seen.insert(next->dot);
      at = *next;
    }
  EXPECT_EQ(seen.size(), fitting_dots(nest, target).size() + 1);
}

TEST(Sample, FollowsFromTheSeed) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(LaneKind::Vector);
  Random first(7);
  Random second(7);
  Random other(8);
  int different = 0;
  for (int i = 0; i < 20; ++i) {
    const std::optional<Schedule> schedule = search::sample(nest, target, first);
    EXPECT_EQ(schedule, search::sample(nest, target, second));
    different += schedule == search::sample(nest, target, other) ? 0 : 1;
  }
  EXPECT_GT(different, 15);
}

TEST(Sample, OfATapeOfZerosIsTheScalarSchedule) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  Random zeros(std::vector<std::uint32_t>{});
  std::optional<Schedule> schedule = search::sample(nest, target_of(LaneKind::Vector), zeros);
  ASSERT_TRUE(schedule);
  schedule->name = "scalar";
  EXPECT_EQ(*schedule, schedule::scalar_schedule(nest));
}

} // namespace
} // namespace tilefuse
