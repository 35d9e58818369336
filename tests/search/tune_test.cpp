// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/text.h"
#include "search/neighbours.h"
#include "search/sample.h"
#include "search/tune.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using schedule::Schedule;
using search::KernelSearch;
using search::Proposal;
using search::Source;
using search::Stake;

constexpr const char *kConvolution = R"(nest conv {
  index m 32, y 14, x 14 | c 8, r 3, s 3
  slot 0 f32 1568, 1 f32 2304, 2 f32 6272
  acc f32 = sum mul
  in 0 + 0 [c:8*196, y + r - 1:14?*14, x + s - 1:14?*1]
  in 1 + 0 const [m:32*72, c:8*9, r:3*3, s:3*1]
  out 2 + 0 [m:32*196, y:14*14, x:14*1]
  post acc
})";

Target target_of(LaneKind lanes) {
  return testing::with_row({.name = "test",
                            .lanes = lanes,
                            .vector_f32 = lanes == LaneKind::Vector ? 8 : 64,
                            .max_group = lanes == LaneKind::Vector ? 1 : 256,
                            .local_bytes = 32 << 10},
                           lanes == LaneKind::Vector ? "cpu_avx2" : "opencl_gpu");
}

class Neighbours : public ::testing::TestWithParam<LaneKind> {};

// Over many steps every decision of a schedule is changed, and each schedule is legal.
TEST_P(Neighbours, AreLegalAndReachEveryDecision) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(GetParam());
  Random random(1);
  Schedule schedule = search::pick(nest, target);
  std::set<std::vector<schedule::Fill>> fills;
  std::set<std::vector<nest::IndexId>> orders;
  std::set<std::int64_t> tiles, copies, lanes, chunks;
  for (int i = 0; i < 600; ++i) {
    const auto next = search::neighbour(nest, target, schedule, random);
    ASSERT_TRUE(next);
    ASSERT_NE(*next, schedule);
    const auto reason = schedule::illegal(nest, *next, target);
    ASSERT_FALSE(reason) << *reason << "\n" << schedule::to_text(nest, *next);
    schedule = *next;
    fills.insert(schedule.fills);
    orders.insert(schedule.order);
    tiles.insert(schedule.splits[1].tile);
    copies.insert(schedule.splits[2].keep);
    lanes.insert(schedule.splits[0].lane);
    chunks.insert(schedule.splits[3].tile);
  }
  EXPECT_GE(fills.size(), 4u);
  EXPECT_GE(orders.size(), 20u);
  EXPECT_GE(tiles.size(), 5u);
  EXPECT_GE(copies.size(), 5u);
  EXPECT_GE(lanes.size(), 3u);
  EXPECT_GE(chunks.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Neighbours,
                         ::testing::Values(LaneKind::Vector, LaneKind::WorkItem));

// Times by a rule that the cost model does not know: an even tile of y is fast, direct access slow.
double time_of(const Schedule &schedule) {
  double ratio = 1;
  ratio *= schedule.splits[1].tile % 2 == 0 ? 0.7 : 1;
  ratio *= schedule.splits[3].keep > 1 ? 0.8 : 1;
  ratio *= is_staged(schedule.fills[0]) ? 0.9 : 1.1;
  return ratio;
}

TEST(KernelSearch, TriesNothingTwiceAndFindsWhatIsFast) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(LaneKind::Vector);
  const poly::Group group{nest};
  KernelSearch search(group, target);
  std::set<std::string> seen = {schedule::to_text(nest, search.model_choice())};
  std::set<Source> sources;
  double best = time_of(search.model_choice());
  for (int round = 0; round < 20; ++round)
    for (const Proposal &proposal : search.propose(10)) {
      EXPECT_FALSE(schedule::illegal(nest, proposal.schedule, target));
      EXPECT_TRUE(seen.insert(schedule::to_text(nest, proposal.schedule)).second);
      sources.insert(proposal.source);
      best = std::min(best, time_of(proposal.schedule));
      search.tell(proposal.schedule, time_of(proposal.schedule), proposal.source);
    }
  EXPECT_EQ(sources, (std::set{Source::Ranking, Source::Neighbour, Source::Random}));
  EXPECT_NEAR(best, 0.7 * 0.8 * 0.9, 1e-9);
  EXPECT_GE(search.tried(), 190u);
}

// Every proposal has schedules for the producers too.
TEST(KernelSearch, OfAGroupWithProducersIsLegalForAll) {
  const poly::Group group = poly::parse_group(R"(group
anchor nest maxpool {
  index c 8, y 15, x 15 | r 3, s 3
  slot 0 f32 8192, 1 f32 128, 2 f32 1800
  acc f32 = max
  in 0 + 0 [c:8*1024, 2*y + r:32*32, 2*x + s:32*1]
  out 2 + 0 [c:8*225, y:15*15, x:15*1]
  post max(acc, 0)
}
produce input 0 of 0 slots 3 1 0
nest mix {
  index m 8, y 32, x 32 | c 16
  slot 0 f32 16384, 1 f32 128, 2 f32 8192
  acc f32 = sum mul
  in 0 + 0 [c:16*1024, y:32*32, x:32*1]
  in 1 + 0 [m:8*16, c:16*1]
  out 2 + 0 [m:8*1024, y:32*32, x:32*1]
  post acc
}
)");
  for (const LaneKind lanes : {LaneKind::Vector, LaneKind::WorkItem}) {
    const Target target = target_of(lanes);
    KernelSearch search(group, target);
    EXPECT_FALSE(schedule::illegal(group, search.model_choice(), target));
    for (int round = 0; round < 3; ++round)
      for (const Proposal &proposal : search.propose(4)) {
        EXPECT_FALSE(schedule::illegal(group, proposal.schedule, target));
        EXPECT_EQ(proposal.schedule.producers.size(), 1u);
        EXPECT_EQ(proposal.source, Source::Random);
        search.tell(proposal.schedule, 0.9, proposal.source);
      }
    EXPECT_GT(search.tried(), 0u);
  }
}

TEST(KernelSearch, StartsComeFirstAndToldOnesNotAgain) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(LaneKind::Vector);
  const poly::Group group{nest};
  KernelSearch first(group, target);
  const std::vector<Proposal> proposals = first.propose(8);
  ASSERT_EQ(proposals.size(), 8u);
  KernelSearch second(group, target);
  second.add_start(proposals[5].schedule);
  for (std::size_t k = 0; k < 4; ++k)
    second.tell(proposals[k].schedule, k == 0 ? 0 : 0.9, Source::Ranking);
  const std::vector<Proposal> again = second.propose(8);
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again.front().schedule, proposals[5].schedule);
  EXPECT_EQ(again.front().source, Source::Start);
  for (const Proposal &proposal : again)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NE(proposal.schedule, proposals[k].schedule);
}

TEST(KernelSearch, FollowsFromWhatItWasTold) {
  const nest::Nest nest = nest::parse_nest(kConvolution);
  const Target target = target_of(LaneKind::WorkItem);
  const poly::Group group{nest};
  KernelSearch first(group, target);
  KernelSearch second(group, target);
  for (int round = 0; round < 4; ++round) {
    const std::vector<Proposal> a = first.propose(6);
    const std::vector<Proposal> b = second.propose(6);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_EQ(a[k].schedule, b[k].schedule);
      first.tell(a[k].schedule, time_of(a[k].schedule), a[k].source);
      second.tell(b[k].schedule, time_of(b[k].schedule), b[k].source);
    }
  }
}

TEST(Stakes, LongAndOftenLaunchedKernelsComeFirst) {
  std::vector<Stake> stakes(3);
  stakes[0] = {.seconds = 1e-3, .launches = 1};
  stakes[1] = {.seconds = 0.5e-3, .launches = 4};
  stakes[2] = {.seconds = 1e-5, .launches = 1};
  EXPECT_EQ(search::next_stake(stakes), 1u);
  for (int i = 0; i < 3; ++i)
    search::learn(stakes[1], 0.5e-3, 0.5e-3, 1);
  EXPECT_EQ(search::next_stake(stakes), 0u) << "rounds that bring nothing lower the hope";
  search::learn(stakes[0], 1e-3, 0.4e-3, 1);
  EXPECT_EQ(search::next_stake(stakes), 0u) << "a gain keeps it up";
  for (int i = 0; i < 30; ++i) {
    const std::size_t next = search::next_stake(stakes);
    search::learn(stakes[next], stakes[next].seconds, stakes[next].seconds, 1);
  }
  EXPECT_GT(stakes[0].fruitless, 1) << "what brings nothing does not take all";
  EXPECT_GT(stakes[1].fruitless, stakes[0].fruitless);
  EXPECT_LT(stakes[1].fruitless, 30);
  stakes[0].is_done = stakes[1].is_done = true;
  EXPECT_EQ(search::next_stake(stakes), 2u);
  stakes[2].is_done = true;
  EXPECT_EQ(search::next_stake(stakes), stakes.size());
}

} // namespace
} // namespace tilefuse
