// SPDX-License-Identifier: Apache-2.0
// The main test of the compiler: random nest × random legal schedule, the kernel simulated against
// the nest evaluated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "lower/random_nests.h"
#include "schedule/legal.h"
#include "schedule/staging.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using testing::Random;
using Slots = std::vector<std::vector<std::byte>>;

Target vector_target() {
  return {.name = "test_vector",
          .backend = "llvm",
          .lanes = LaneKind::Vector,
          .vector_f32 = 8,
          .local_bytes = 1 << 20,
          .features = {Feature::PrefetchHints}};
}

Target work_item_target() {
  return testing::with_row({.name = "test_groups",
                            .backend = "opencl",
                            .lanes = LaneKind::WorkItem,
                            .vector_f32 = 32,
                            .max_group = 256,
                            .local_bytes = 48 << 10},
                           "opencl_gpu");
}

// A kernel's text reads back.
void check_text(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  const std::string text = kernel::to_text(lower::lower({nest}, schedule, target));
  EXPECT_EQ(kernel::to_text(kernel::parse_kernel(text)), text);
}

void check_case(std::uint64_t seed, const Target &target, bool picked) {
  Random random(seed);
  const DType type = random.of<DType>({DType::F32, DType::F32, DType::F16, DType::I32});
  const nest::Nest nest = testing::random_nest(random, type);
  nest::verify(nest);
  const schedule::Schedule schedule =
      picked ? search::pick(nest, target) : testing::random_schedule(random, nest, target);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + nest::to_text(nest) +
               schedule::to_text(nest, schedule));
  EXPECT_EQ(schedule::parse_schedule(nest, schedule::to_text(nest, schedule)), schedule);
  const Slots slots = testing::integer_slots(random, nest);
  check_text(nest, schedule, target);
  ASSERT_EQ(testing::simulated(nest, schedule, target, slots), testing::evaluated(nest, slots));
}

// More cases with TILEFUSE_FUZZ_CASES=N.
std::uint64_t case_count(std::uint64_t usual) {
  const char *text = std::getenv("TILEFUSE_FUZZ_CASES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(Lower, RandomSchedulesOfVectorLanesAreExact) {
  for (std::uint64_t seed = 1; seed <= case_count(400) && !::testing::Test::HasFatalFailure();
       ++seed)
    check_case(seed, vector_target(), false);
}

TEST(Lower, RandomSchedulesOfWorkItemLanesAreExact) {
  for (std::uint64_t seed = 1; seed <= case_count(200) && !::testing::Test::HasFatalFailure();
       ++seed)
    check_case(seed, work_item_target(), false);
}

// The draw above would prove little if it never reached a part of the space.
TEST(Lower, RandomSchedulesReachTheWholeSpace) {
  int parts = 0, vectors = 0, chunks = 0, nested = 0, twice = 0, packed = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const nest::Nest nest = testing::random_nest(random, DType::F32);
    const Target target = work_item_target();
    const schedule::Schedule drawn = testing::random_schedule(random, nest, target);
    parts += drawn.lane_parts.size() > 1;
    vectors += vector_index(drawn).has_value();
    const std::size_t levels = chunked_indices(nest, drawn).size();
    chunks += levels > 0;
    nested += levels > 1;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      twice += drawn.pipes[k].is_double_buffered();
      packed += drawn.fills[k] == schedule::Fill::PackedLocal;
    }
  }
  for (int count : {parts, vectors, chunks, nested, twice, packed})
    EXPECT_GE(count, 10);
}

TEST(Lower, RandomSchedulesReachGuardsThatAreSettled) {
  int clipped = 0, edged = 0, both = 0, of_staged = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const nest::Nest nest = testing::random_nest(random, DType::F32);
    const schedule::Schedule drawn = testing::random_schedule(random, nest, vector_target());
    const auto any = [&](bool schedule::Split::*member) {
      return std::any_of(drawn.splits.begin(), drawn.splits.end(),
                         [&](const schedule::Split &split) { return split.*member; });
    };
    const bool clips = any(&schedule::Split::clip);
    const bool has_edges = any(&schedule::Split::edge);
    clipped += clips;
    edged += has_edges;
    both += clips && has_edges;
    of_staged += clips && is_staged(drawn.fills[0]);
  }
  for (int count : {clipped, edged, both, of_staged})
    EXPECT_GE(count, 10) << clipped << " " << edged << " " << both << " " << of_staged;
}

TEST(Lower, RandomSchedulesReachWhatIsTurned) {
  int results = 0, inputs = 0, results_of_items = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    const nest::Nest nest = testing::random_nest(random, DType::F32);
    const schedule::Schedule vectors = testing::random_schedule(random, nest, vector_target());
    results += vectors.store == schedule::Store::Local;
    inputs += std::any_of(vectors.pipes.begin(), vectors.pipes.end(), [](const auto &stage) {
      return stage.layout == schedule::Layout::Transposed;
    });
    results_of_items +=
        testing::random_schedule(random, nest, work_item_target()).store == schedule::Store::Local;
  }
  for (int count : {results, inputs, results_of_items})
    EXPECT_GE(count, 30) << results << " " << inputs << " " << results_of_items;
}

TEST(Schedule, GuardsThatSettleNothingAreRefused) {
  const nest::Nest nest = testing::conv_nest({.height = 14, .width = 14});
  schedule::Schedule schedule = schedule::scalar_schedule(nest);
  const auto index = [&](const std::string &name) {
    std::size_t i = 0;
    while (nest.indices[i].name != name)
      ++i;
    return i;
  };
  const auto reason = [&] {
    return schedule::illegal(nest, schedule, vector_target()).value_or("");
  };
  schedule.lanes = LaneKind::Vector;
  schedule.splits[index("r")].clip = true;
  EXPECT_EQ(reason(), "");
  schedule.splits[index("x")].edge = true;
  EXPECT_EQ(reason(), "edges of x settle no test");
  schedule.splits[index("s")].keep = 3;
  EXPECT_EQ(reason(), "");
  schedule.splits[index("c")].clip = true;
  EXPECT_EQ(reason(), "clipping c settles no test");
  schedule.splits[index("c")].clip = false;
  schedule.splits[index("y")] = {2, 2};
  EXPECT_EQ(reason(), "clipping r settles no test");
}

TEST(Lower, PickedSchedulesAreExact) {
  for (std::uint64_t seed = 1; seed <= case_count(150) && !::testing::Test::HasFatalFailure();
       ++seed) {
    check_case(seed, vector_target(), true);
    check_case(seed, work_item_target(), true);
  }
}

TEST(Lower, KernelsAreTheSameEveryTime) {
  Random first(7);
  Random second(7);
  const nest::Nest a = testing::random_nest(first, DType::F32);
  const nest::Nest b = testing::random_nest(second, DType::F32);
  const Target target = vector_target();
  EXPECT_EQ(kernel::to_text(lower::lower({a}, search::pick(a, target), target)),
            kernel::to_text(lower::lower({b}, search::pick(b, target), target)));
}

TEST(Schedule, IllegalOnesSayWhy) {
  Random random(3);
  const nest::Nest nest = testing::random_nest(random, DType::F32);
  schedule::Schedule schedule = schedule::scalar_schedule(nest);
  EXPECT_FALSE(schedule::illegal(nest, schedule, vector_target()));
  schedule.splits[0].tile = 3;
  schedule.splits[0].keep = 2;
  EXPECT_NE(schedule::illegal(nest, schedule, vector_target()).value_or("").find("not a multiple"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse
