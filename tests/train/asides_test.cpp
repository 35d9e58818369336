// SPDX-License-Identifier: Apache-2.0
// Launches of a step that run aside (search/network/asides.h): which they are, that they and those that
// may run beside them leave each other's memory alone, and how they come into a timeline.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"
#include "launch/arguments.h"
#include "model/compile.h"
#include "model/plan/plan.h"
#include "model/precision.h"
#include "poly/group_buffers.h"
#include "runtime/target_device.h"
#include "search/network/asides.h"
#include "target/rows.h"
#include "train/setup.h"
#include "train/shared.h"
#include "train/step_program.h"

namespace tilefuse::train {
namespace {

Target sm90() { return testing::target_row("cuda_sm90"); }

model::Compiled step(double arena_gb) {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  recipe.steps.batch = 128;
  const Setup setup(recipe);
  runtime::TargetDevice device(sm90());
  const model::AppliedPrecision applied = model::apply_precision(
      gradients_program(setup.model, setup.pool, setup.task).program, "bf16", device.target());
  runtime::KernelCache cache("", [](const std::string &) {});
  search::KeptChoices kept(&cache, device.target());
  return model::choose_kernels(applied.program, device, kept,
                               {.layout = "nhwc",
                                .has_asides = true,
                                .arena_bytes = static_cast<std::int64_t>(arena_gb * 1e9),
                                .is_simplified = applied.is_simplified});
}

struct Range {
  std::int64_t begin = 0, end = 0;
};
bool meet(const std::vector<Range> &some, const std::vector<Range> &others) {
  for (const Range &a : some)
    for (const Range &b : others)
      if (a.begin < b.end && b.begin < a.end)
        return true;
  return false;
}

struct Touched {
  std::vector<Range> read, written;
};
Touched touched(const model::CompiledLaunch &each, const model::Plan &plan) {
  Touched made;
  for (const launch::Part &part : each.launch.parts)
    for (const program::BufferId id : part.placed.buffers) {
      const model::PlacedBuffer &place = plan.buffers[at(id)];
      if (!place.is_used)
        continue;
      const Range range{place.offset, place.offset + place.bytes};
      (poly::writes(part.placed, id) ? made.written : made.read).push_back(range);
    }
  return made;
}

// How many launches run aside.
std::size_t check_asides(const model::Compiled &compiled) {
  const model::Plan plan = model::make_plan(compiled, 256);
  std::size_t asides = 0, last = 0;
  for (std::size_t k = 0; k < compiled.launches.size(); ++k) {
    if (!compiled.launches[k].before)
      continue;
    const std::size_t before = *compiled.launches[k].before;
    EXPECT_GT(before, k);
    EXPECT_LE(before, compiled.launches.size());
    EXPECT_GE(before, last) << "they end in order";
    last = before;
    ++asides;
    const Touched own = touched(compiled.launches[k], plan);
    for (std::size_t other = k + 1; other < before; ++other) {
      if (compiled.launches[other].before)
        continue;
      const Touched theirs = touched(compiled.launches[other], plan);
      EXPECT_FALSE(meet(theirs.written, own.read)) << k << " and " << other;
      EXPECT_FALSE(meet(theirs.written, own.written)) << k << " and " << other;
      EXPECT_FALSE(meet(theirs.read, own.written)) << k << " and " << other;
    }
  }
  return asides;
}

TEST(Asides, NothingBesideTouchesTheirMemory) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  const model::Compiled compiled = step(0);
  const std::size_t asides = check_asides(compiled);
  EXPECT_GT(asides, 4U);
  EXPECT_LT(2 * asides, compiled.launches.size());
}

// What they keep for longer is paid by what is computed again, until nothing more can be.
TEST(Asides, StandUnderALimitOfMemoryAsLongAsItSuffices) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  const auto gigabytes = [](const model::Compiled &compiled) {
    const model::Plan plan = model::make_plan(compiled, 256);
    return static_cast<double>(plan.activation_bytes - plan.arena_begin) * 1e-9;
  };
  const model::Compiled whole = step(0);
  const double most = gigabytes(whole);
  std::size_t asides = check_asides(whole), repeated = 0;
  for (double share = 0.99; asides > 0; share -= 0.03) {
    const model::Compiled less = step(share * most);
    const std::string text = model::to_text(less);
    EXPECT_EQ(model::to_text(model::parse_compiled(text)), text);
    EXPECT_LE(gigabytes(less), share * most);
    asides = check_asides(less);
    if (asides > 0)
      repeated = less.launches.size() - whole.launches.size();
  }
  EXPECT_GT(repeated, 0U);
}

// Two chains of one source: what nobody waits for runs beside the other's, as far as it is not read.
TEST(Asides, AreWhatIsReadLate) {
  const auto launch = [](std::vector<int> read, int written) {
    launch::Launch made{{launch::Part{}}};
    poly::PlacedGroup &placed = made.parts[0].placed;
    nest::Nest &nest = placed.group.anchor;
    for (const int buffer : read) {
      nest.extras.push_back({.slot = nest.slots.next_id()});
      nest.slots.push_back({DType::F32, 1});
      placed.buffers.push_back(program::BufferId{buffer});
    }
    nest.out.slot = nest.slots.next_id();
    nest.slots.push_back({DType::F32, 1});
    placed.buffers.push_back(program::BufferId{written});
    return made;
  };
  std::vector<launch::Launch> launches = {launch({0}, 1), launch({0}, 20), launch({20}, 21)};
  for (int k = 1; k < 7; ++k)
    launches.push_back(launch({k}, k + 1)); // 3 to 8
  launches.push_back(launch({7, 21}, 8));   // 9 reads what 2 wrote
  std::vector<const launch::Launch *> all;
  for (const launch::Launch &each : launches)
    all.push_back(&each);
  const std::vector<std::optional<std::size_t>> before = search::choose_asides(all);
  for (std::size_t k = 0; k < before.size(); ++k)
    EXPECT_EQ(before[k], k == 1 || k == 2 ? std::optional<std::size_t>(9) : std::nullopt) << k;
}

} // namespace
} // namespace tilefuse::train
