// SPDX-License-Identifier: Apache-2.0
// Does the net hold? Every planted compiler fault must be caught within a stated number of random
// cases that have a place for it. Prints fault, what caught it, and after how many cases.
#include <gtest/gtest.h>

#include <cstdio>

#include "fuzz/mutations.h"
#include "kernel/verify.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "model/oracle/random_case.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "support/fed_group.h"

namespace tilefuse {
namespace {

using fuzz::Mutation;
using model::Divergence;
using model::KernelCase;
using model::Tapes;

constexpr int kMostCases = 150; // that have a place for the fault
constexpr int kMostDraws = 4000;

Tapes numbered_tapes(int number) {
  Random random(static_cast<std::uint64_t>(number));
  Tapes tapes;
  for (int i = 0; i < 64; ++i)
    tapes.nest.push_back(static_cast<std::uint32_t>(random.between(0, 1 << 20)));
  for (int i = 0; i < 48; ++i)
    tapes.schedule.push_back(static_cast<std::uint32_t>(random.between(0, 1 << 20)));
  tapes.data = static_cast<std::uint32_t>(number / 2);
  return tapes;
}

// The case of a number: vectors and work-items in turn, integers and reals in turn.
std::optional<KernelCase> numbered_case(int number) {
  return model::draw_case(numbered_tapes(number),
                          number % 2 == 0 ? LaneKind::Vector : LaneKind::WorkItem);
}

// One with matrix instructions, where there is one.
std::optional<KernelCase> numbered_core_case(int number) {
  return model::draw_core_case(numbered_tapes(number));
}

// A small convolution or gradient with wgmma.
std::optional<KernelCase> numbered_wgmma_case(int number) {
  Random random(static_cast<std::uint64_t>(number));
  const int taps = random.of({1, 3, 2});
  const int channels = random.of({64, 72, 128});
  const int outputs = random.of({64, 128, 192});
  const bool turns = number % 6 == 5; // words of a filter gradient, in the ring
  poly::Group group;
  if (number % 3 == 0) {
    group = model::group_of({.n = 3, .c = channels, .k = outputs, .r = taps, .s = taps});
  } else {
    const auto by = number % 3 == 1 ? model::By::Input : model::By::Filter;
    const auto all = model::gradients(
        {.n = 3,
         .c = channels,
         .k = outputs,
         .r = taps,
         .s = taps,
         .stride = random.of({1, 2}),
         .type = turns ? "f32" : "f16"},
        by);
    group = random.of(all);
  }
  const Target target = model::sm90();
  const bool is_fed = number % 2 == 0 && number % 3 != 2 && group.anchor.inputs.size() == 2;
  if (is_fed)
    group = number % 4 == 0 ? model::normalised(group, 0) : model::masked(group, 0);
  auto schedules = is_fed ? search::fed_core_schedules(group, target, false)
                          : search::every_wgmma_schedule(group.anchor, target, turns);
  std::erase_if(schedules, [](const auto &each) { return !is_wgmma(*each.core.op); });
  if (schedules.empty())
    return {};
  schedule::Schedule schedule = random.of(schedules);
  if (number % 2 == 0) {
    const auto [rows, columns] = random.of({std::pair{2, 1}, {1, 2}, {2, 2}});
    schedule =
        search::with_cluster(group.anchor, schedule, target, rows, columns).value_or(schedule);
  }
  return KernelCase{.group = group,
                    .schedule = schedule,
                    .target = target,
                    .seed = static_cast<std::uint64_t>(number)};
}

// What notices the fault in one case: a rule of the level, a check of the simulator, a wrong value.
std::string catcher(const KernelCase &drawn, const kernel::Kernel &faulty) {
  if (!kernel::check(faulty, true).empty())
    return "verifier";
  const model::Reference reference(drawn);
  const std::optional<Divergence> divergence = model::check_kernel(reference, faulty, "");
  if (!divergence)
    return {};
  return divergence->what.starts_with("element ") ? "wrong value" : "simulator";
}

struct Outcome {
  std::string caught_by;
  int cases = 0;
};

using Cases = std::optional<KernelCase> (*)(int);

Outcome hunt(const Mutation &mutation, Cases cases) {
  Outcome outcome;
  for (int number = 0; number < kMostDraws && outcome.cases < kMostCases; ++number) {
    const std::optional<KernelCase> drawn = cases(number);
    const std::optional<kernel::Kernel> faulty =
        drawn ? fuzz::compile_with(mutation, *drawn) : std::nullopt;
    if (!faulty)
      continue;
    ++outcome.cases;
    outcome.caught_by = catcher(*drawn, *faulty);
    if (!outcome.caught_by.empty())
      break;
  }
  return outcome;
}

void expect_caught(const std::vector<Mutation> &mutations, Cases cases) {
  std::printf("%-40s %-12s %s\n", "fault", "caught by", "after cases");
  for (const Mutation &mutation : mutations) {
    const Outcome outcome = hunt(mutation, cases);
    std::printf("%-40s %-12s %d\n", mutation.name.c_str(), outcome.caught_by.c_str(),
                outcome.cases);
    EXPECT_FALSE(outcome.caught_by.empty())
        << mutation.name << " survived " << outcome.cases << " cases";
  }
}

TEST(Mutations, EveryPlantedFaultIsCaught) { expect_caught(fuzz::mutations(), numbered_case); }

TEST(Mutations, EveryFaultOfMatrixInstructionsIsCaught) {
  expect_caught(fuzz::core_mutations(), numbered_core_case);
}

TEST(Mutations, EveryFaultOfWgmmaIsCaught) {
  expect_caught(fuzz::wgmma_mutations(), numbered_wgmma_case);
}

// The cases themselves are right: otherwise every fault would seem caught.
TEST(Mutations, NothingIsCaughtWithoutAFault) {
  for (int number = 0; number < 150; ++number) {
    const KernelCase drawn = *numbered_case(number);
    const model::Reference reference(drawn);
    const std::optional<Divergence> divergence = model::check_simulated(reference);
    ASSERT_FALSE(divergence) << to_text(drawn) << divergence->stage << ": " << divergence->what;
  }
}

} // namespace
} // namespace tilefuse
