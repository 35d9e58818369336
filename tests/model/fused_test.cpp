// SPDX-License-Identifier: Apache-2.0
// Groups of several nests: random chains x random legal schedules, the kernel simulated against the
// nests evaluated one after the other.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/index.h"
#include "model/oracle/check.h"
#include "model/oracle/exact.h"
#include "model/oracle/random_case.h"
#include "poly/group_legality.h"
#include "schedule/legal.h"
#include "schedule/rolling.h"
#include "schedule/text.h"
#include "search/groups.h"
#include "search/sample_group.h"
#include "support/random_backward.h"
#include "support/random_group.h"

namespace tilefuse {
namespace {

std::uint64_t case_count(std::uint64_t usual) {
  const char *text = std::getenv("TILEFUSE_FUZZ_CASES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

struct Tally {
  int scheduled = 0;
  int rolled = 0; // of these, with tiles that leave rows to the next one
  int exact = 0;
  int inexact = 0;
};

bool leaves_rows(const poly::Group &group, const schedule::Schedule &schedule) {
  const std::vector<nest::Nest> nests = tile_nests(group, schedule);
  if (schedule::rolling(group, schedule, poly::kAnchor).tiles <= 1)
    return false;
  for (const poly::MemberId m : producing_members(group))
    if (producer_at(group, m).feed == poly::Feed::Produce &&
        schedule::rolling(group, schedule, m).kept(nests[at(m)]) > 0)
      return true;
  return false;
}

// Reals: what a chain stores lies within the bound of its members' bounds, and not within that of
// its anchor alone; what one element too many changed does not.
void check_reals(std::uint64_t seed, LaneKind lanes, Tally &tally) {
  Random random(seed);
  model::KernelCase drawn{.values = model::Values::Reals};
  drawn.target = model::random_target(random, lanes);
  drawn.group = model::fuse_chain(model::random_chain(random)).group;
  drawn.seed = seed;
  const auto schedule = search::sample(drawn.group, drawn.target, random);
  if (!schedule || drawn.group.producers.empty())
    return;
  drawn.schedule = *schedule;
  ++tally.scheduled;
  const nest::Slot out = drawn.group.anchor.slots[drawn.group.anchor.out.slot];
  SCOPED_TRACE(model::to_text(drawn));
  const model::Reference reference(drawn);
  const auto divergence = model::check_simulated(reference);
  ASSERT_FALSE(divergence) << "seed " << seed << " " << divergence->stage << ": "
                           << divergence->what;
  EXPECT_LE(reference.largest_share(), 1);
  tally.inexact += reference.largest_share() > 0;
  if (out.type != DType::F32)
    return;
  model::Slots slots = reference.before();
  std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  poly::evaluate(drawn.group, spans);
  program::Bytes &stored = slots[at(drawn.group.anchor.out.slot)];
  EXPECT_FALSE(reference.compare(stored));
  store_element(stored.data(), out.type, 0, load_element(stored.data(), out.type, 0) + 1);
  EXPECT_TRUE(reference.compare(stored));
}

void check_case(std::uint64_t seed, LaneKind lanes, Tally &tally) {
  Random random(seed);
  model::KernelCase drawn;
  drawn.target = model::random_target(random, lanes);
  drawn.group = model::fuse_chain(model::random_chain(random)).group;
  const auto schedule = search::sample(drawn.group, drawn.target, random);
  if (!schedule)
    return;
  ++tally.scheduled;
  tally.rolled += leaves_rows(drawn.group, *schedule);
  drawn.schedule = *schedule;
  drawn.seed = seed;
  if (!model::is_exact(drawn))
    return;
  ++tally.exact;
  const std::string text = model::to_text(drawn);
  SCOPED_TRACE(text);
  EXPECT_EQ(model::to_text(model::parse_case(text)), text);
  const model::Reference reference(drawn);
  const auto divergence = model::check_simulated(reference);
  ASSERT_FALSE(divergence) << "seed " << seed << " " << divergence->stage << ": "
                           << divergence->what;
}

void check_many(LaneKind lanes, std::uint64_t first) {
  const std::uint64_t count = case_count(400);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFatalFailure();
       ++seed)
    check_case(seed, lanes, tally);
  ::testing::Test::RecordProperty("scheduled", tally.scheduled);
  ::testing::Test::RecordProperty("exact", tally.exact);
  EXPECT_GT(tally.exact * 2, static_cast<int>(count));
  if (lanes == LaneKind::Vector) {
    EXPECT_GT(tally.rolled * 20, static_cast<int>(count));
  }
}

// The picked schedule of every random chain is legal and right.
void check_picked(std::uint64_t seed, const Target &target, int &checked) {
  Random random(seed);
  model::KernelCase drawn;
  drawn.target = target;
  drawn.group = model::fuse_chain(model::random_chain(random)).group;
  const auto schedule = search::pick_fused(drawn.group, target);
  if (!schedule)
    return;
  drawn.schedule = *schedule;
  drawn.seed = seed;
  if (!model::is_exact(drawn))
    return;
  SCOPED_TRACE(model::to_text(drawn));
  EXPECT_FALSE(schedule::illegal(drawn.group, *schedule, target));
  const auto divergence = model::check_simulated(model::Reference(drawn));
  ASSERT_FALSE(divergence) << "seed " << seed << " " << divergence->stage << ": "
                           << divergence->what;
  ++checked;
}

TEST(Fused, PickedSchedulesOfRandomChains) {
  const Target vectors{.name = "test_vector",
                       .backend = "llvm",
                       .lanes = LaneKind::Vector,
                       .vector_f32 = 8,
                       .local_bytes = 1 << 20};
  const Target items{.name = "test_groups",
                     .backend = "opencl",
                     .lanes = LaneKind::WorkItem,
                     .vector_f32 = 32,
                     .max_group = 256,
                     .local_bytes = 48 << 10};
  int on_vectors = 0;
  int on_items = 0;
  for (std::uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    check_picked(seed, vectors, on_vectors);
    check_picked(seed, items, on_items);
  }
  EXPECT_GT(on_vectors, 9);
  EXPECT_GT(on_items, 8);
}

// Gradients whose operands are computed where they are staged, and stored on the way or not.
void check_backward(std::uint64_t seed, LaneKind lanes, Tally &tally, int &stored) {
  Random random(seed);
  model::KernelCase drawn{.seed = seed};
  drawn.target = model::random_target(random, lanes);
  drawn.group = model::random_backward_group(random).group;
  const auto schedule = search::sample(drawn.group, drawn.target, random);
  if (!schedule)
    return;
  drawn.schedule = *schedule;
  ++tally.scheduled;
  const std::string text = model::to_text(drawn);
  SCOPED_TRACE(text);
  EXPECT_EQ(model::to_text(model::parse_case(text)), text);
  const model::Reference reference(drawn);
  tally.exact += model::is_exact(drawn);
  stored += poly::written_slots(drawn.group).size() > 1;
  const auto divergence = model::check_simulated(reference);
  ASSERT_FALSE(divergence) << "seed " << seed << " " << divergence->stage << ": "
                           << divergence->what;
}

TEST(Fused, RandomBackwardGroups) {
  for (const LaneKind lanes : {LaneKind::Vector, LaneKind::WorkItem}) {
    Tally tally;
    int stored = 0;
    for (std::uint64_t seed = 1; seed <= case_count(50) && !HasFatalFailure(); ++seed)
      check_backward(seed, lanes, tally, stored);
    EXPECT_GT(tally.exact * 2, static_cast<int>(case_count(50)));
    EXPECT_GT(stored * 8, static_cast<int>(case_count(50)));
  }
}

// A kernel that leaves out or repeats one element of its by-product is found.
TEST(Fused, ByProductsAreCompared) {
  for (std::uint64_t seed = 1;; ++seed) {
    Random random(seed);
    model::KernelCase drawn{.seed = seed};
    drawn.target = model::random_target(random, LaneKind::Vector);
    drawn.group = model::random_backward_group(random).group;
    const auto schedule = search::sample(drawn.group, drawn.target, random);
    if (!schedule || poly::written_slots(drawn.group).size() < 2)
      continue;
    drawn.schedule = *schedule;
    const model::Reference reference(drawn);
    model::Slots slots = reference.before();
    std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
    poly::evaluate(drawn.group, spans);
    EXPECT_FALSE(reference.compare(slots));
    const std::size_t by_product = at(poly::written_slots(drawn.group)[1]);
    slots[by_product] = reference.before()[by_product];
    EXPECT_TRUE(reference.compare(slots));
    return;
  }
}

// What a group's form shows to be legal is legal by isl.
TEST(Fused, PlainlyLegalChainsAreLegal) {
  int plain = 0;
  for (std::uint64_t seed = 1; seed <= case_count(40); ++seed) {
    Random random(seed);
    const poly::Group group = model::fuse_chain(model::random_chain(random)).group;
    if (!poly::is_plainly_legal(group))
      continue;
    ++plain;
    EXPECT_EQ(poly::illegal_fusion(group, 10'000'000), std::nullopt) << poly::to_text(group);
  }
  EXPECT_GT(plain, 30);
}

TEST(Fused, RealsOfRandomChains) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= case_count(60) && !HasFatalFailure(); ++seed)
    check_reals(seed, seed % 2 == 0 ? LaneKind::Vector : LaneKind::WorkItem, tally);
  EXPECT_GT(tally.scheduled, 20);
  EXPECT_GT(tally.inexact, 5);
}

// Neighbours of a producer's own layout do not lie together in a consumer's turned tile.
TEST(Fused, ResultsOfAProducerLieAsItsConsumerReadsThem) {
  model::KernelCase turned;
  turned.target.lanes = LaneKind::WorkItem;
  turned.target.max_group = 7;
  turned.target.local_bytes = 1 << 20;
  turned.group = poly::parse_group(R"(group
anchor nest maxpool {
  index c 3, y 2, x 1 | r 5, s 5
  slot 0 f32 96, 1 f32 75, 2 f32 6
  acc f32 = max
  in 0 + 0 [c:3*32, 3*y + r:8?*4, 3*x + s:4?*1]
  out 2 + 0 [c:3*1, y:2*3, x:1*3]
  post max(acc, 0)
}
produce input 0 of 0 slots 3 4 0
nest mix {
  index m 3, y 8, x 4 | c 4
  slot 0 f32 128, 1 f32 12, 2 f32 96
  acc f32 = sum mul
  in 0 + 0 [c:4*32, y:8*4, x:4*1]
  in 1 + 0 [m:3*4, c:4*1]
  out 2 + 0 [m:3*32, y:8*4, x:4*1]
  post acc
}
)");
  turned.schedule = schedule::parse_schedule(turned.group, R"(schedule sample workitem
  tile   c:3 y:2 x:7
  lane   x:7
  loop   c x y s r
  produce 0 transposed
producer 1
schedule sample workitem
  tile   m:7 y:1 x:4
  lane   m:7
  reg    x:4
  loop   m y x c
)");
  const auto divergence = model::check_simulated(model::Reference(turned));
  EXPECT_FALSE(divergence) << divergence->what;
}

TEST(Fused, RandomChainsOnVectors) { check_many(LaneKind::Vector, 1); }
TEST(Fused, RandomChainsOnWorkItems) { check_many(LaneKind::WorkItem, 100001); }

} // namespace
} // namespace tilefuse
