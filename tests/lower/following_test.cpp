// SPDX-License-Identifier: Apache-2.0
// Maps and reductions that follow those that they read the results of, and classes of one gradient, in
// one kernel, on the simulator, also where next values lie in the place of the last.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/index.h"
#include "kernel/simulate.h"
#include "launch/arguments.h"
#include "lower/launch/lower_launch.h"
#include "poly/fuse.h"
#include "program/program.h"
#include "program/storage/storage.h"
#include "search/network/launches.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse::lower {
namespace {

using launch::Place;
using search::Sharing;

constexpr std::int64_t kRows = 7, kColumns = 300;

// A momentum, the parameter made of it, and a moving average of that, which has one index alone.
constexpr const char *kStep = R"(program "step" {
  input %0 "parameters" : f32[7, 300]
  input %1 "momentum" : f32[7, 300]
  input %2 "gradients" : f32[7, 300]
  input %3 "decay" : f32[7, 1]
  input %4 "average" : f32[7, 300]
  %5 "next momentum" : f32[7, 300] = map[%1, %2, %0, %3](2.0*$0 + ($1 + $2*$3))
  %6 "next parameters" : f32[7, 300] = map[%0, %5, %3]($0 - 3.0*$1 + $2)
  %7 "next average" : f32[7, 300] = map[%4, %6]($0 + 2.0*$1)
  output %5
  output %6
  output %7
}
)";

struct Step {
  Step(const std::string &row, Sharing sharing, const std::string &text = kStep)
      : Step(testing::target_row(row), sharing, text) {}
  Step(Target on, Sharing sharing, const std::string &text)
      : target(std::move(on)), stored(program::assign_storage(program::parse_program(text))) {
    std::vector<launch::Part> kernels;
    for (poly::PlacedGroup &placed : poly::make_groups(stored, {.level = poly::FuseLevel::None})) {
      schedule::Schedule schedule = search::pick(placed.group.anchor, target);
      kernels.push_back({std::move(placed), std::move(schedule)});
    }
    launches =
        search::choose_launches(std::move(kernels), target, search::pick_of_size(target), sharing);
  }

  program::BufferId buffer(int tensor) const { return stored.windows[at(tensor)].buffer; }

  Target target;
  program::StoredProgram stored;
  std::vector<launch::Launch> launches;
};

std::vector<float> drawn(int seed) {
  std::vector<float> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 31) % 13) - 6;
  return values;
}

// The step's results, next values in the place of the last.
std::vector<std::vector<float>> simulated(const Step &step, std::uint32_t shuffle) {
  std::map<int, std::vector<float>> values = {
      {0, drawn(0)}, {1, drawn(1)}, {2, drawn(2)}, {3, {0, 1, 2, 3, 4, 5, 6}}, {4, drawn(4)}};
  std::map<program::BufferId, std::vector<float> *> places;
  for (auto &[tensor, held] : values)
    places[step.buffer(tensor)] = &held;
  for (const auto &[next, last] : {std::pair{5, 1}, std::pair{6, 0}, std::pair{7, 4}})
    places[step.buffer(next)] = &values.at(last);
  for (const launch::Launch &launch : step.launches) {
    std::vector<std::span<std::byte>> args;
    for (const launch::Argument &argument : launch::arguments(launch).all)
      args.push_back(std::as_writable_bytes(std::span(*places.at(buffer_of(launch, argument)))));
    kernel::simulate(lower_launch(launch, step.target), args,
                     {.target = step.target, .shuffle = shuffle, .count = false});
  }
  return {values.at(1), values.at(0), values.at(4)};
}

std::vector<std::vector<float>> expected() {
  std::vector<float> momentum = drawn(1), parameters = drawn(0), average = drawn(4);
  const std::vector<float> gradients = drawn(2);
  for (std::size_t i = 0; i < momentum.size(); ++i) {
    const auto decay = static_cast<float>(i / kColumns);
    momentum[i] = 2 * momentum[i] + (gradients[i] + parameters[i] * decay);
    parameters[i] = parameters[i] - 3 * momentum[i] + decay;
    average[i] = average[i] + 2 * parameters[i];
  }
  return {momentum, parameters, average};
}

TEST(Following, AStepIsOneKernel) {
  for (const char *row : {"cuda_sm90", "opencl_gpu", "opencl_cpu", "cpu_avx2"}) {
    const Step step(row, Sharing::InOrder);
    ASSERT_EQ(step.launches.size(), 1U) << row;
    ASSERT_EQ(step.launches[0].parts.size(), 3U) << row;
    EXPECT_EQ(step.launches[0].parts[1].place, Place::Following);
    for (const std::uint32_t shuffle : {0U, 5U})
      EXPECT_EQ(simulated(step, shuffle), expected()) << row;
  }
}

TEST(Following, KernelsOfTheirOwnGiveTheSame) {
  const Step step("opencl_gpu", Sharing::None);
  EXPECT_EQ(step.launches.size(), 3U);
  EXPECT_EQ(simulated(step, 0), expected());
}

// What is read at other points, or not at all, is another launch's.
TEST(Following, OtherPointsDoNot) {
  const auto launches = [](const char *body) {
    return Step("opencl_gpu", Sharing::InOrder, std::string(R"(program "p" {
  input %0 "a" : f32[64, 64]
  %1 "b" : f32[64, 64] = map[%0](2.0*$0)
)") + body + "\n}\n")
        .launches.size();
  };
  EXPECT_EQ(launches("  %2 \"c\" : f32[64, 64] = map[%1]($0 + 1.0)\n  output %1\n  output %2"), 1U);
  EXPECT_EQ(launches("  %2 \"c\" : f32[64, 64] = map[%0]($0 + 1.0)\n  output %1\n  output %2"), 2U);
  EXPECT_EQ(launches("  %2 \"t\" : f32[64, 64] = assign[i, j](%1[j, i]) -> [i, j]\n  output %1\n"
                     "  output %2"),
            2U);
}

// A max-pool, something small between, its winners, and what goes to them: four classes of pixels.
constexpr const char *kPool = R"(program "pool" {
  input %0 "x" : f32[2, 10, 10, 16]
  input %1 "dy" : f32[2, 5, 5, 16]
  input %2 "rank" : f32[3, 3]
  %3 "y" : f32[2, 5, 5, 16] = max[n, y, x, c, j, i](%0[n, 2*y + j - 1, 2*x + i - 1, c]) -> [n, y, x, c] where 0 <= j < 3, 0 <= i < 3
  %4 "z" : f32[2, 5, 5, 16] = map[%1](2.0*$0)
  %5 "winner" : f32[2, 5, 5, 16] = max[n, y, x, c, j, i](%0[n, 2*y + j - 1, 2*x + i - 1, c] == %3[n, y, x, c] ? %2[j, i]) -> [n, y, x, c] where 0 <= j < 3, 0 <= i < 3
  %6 "dx" : f32[2, 10, 10, 16] = sum[n, y, x, c, j, i](%5[n, y, x, c] == %2[j, i] ? %4[n, y, x, c]) -> [n, 2*y + j - 1, 2*x + i - 1, c] where 0 <= j < 3, 0 <= i < 3
  output %3
  output %6
}
)";

// What is in every buffer of the pool's program behind its launches.
std::vector<std::vector<float>> pooled(const Step &step) {
  std::vector<std::vector<float>> values;
  for (const program::Buffer &buffer : step.stored.buffers) {
    values.emplace_back(static_cast<std::size_t>(buffer.elems));
    for (std::size_t i = 0; i < values.back().size(); ++i)
      values.back()[i] = static_cast<float>(i * 7919 % 13);
  }
  std::vector<float> &ranks = values[at(step.buffer(2))];
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = static_cast<float>(ranks.size() - i);
  for (const launch::Launch &launch : step.launches) {
    std::vector<std::span<std::byte>> args;
    for (const launch::Argument &argument : launch::arguments(launch).all)
      args.push_back(std::as_writable_bytes(std::span(values[at(buffer_of(launch, argument))])));
    kernel::simulate(lower_launch(launch, step.target), args,
                     {.target = step.target, .count = false});
  }
  return values;
}

Target narrow(const std::string &row) {
  Target target = testing::target_row(row);
  target.compute_units = 1;
  target.rates.unit_items = 32;
  return target;
}

TEST(Following, WinnersAndClassesOfTheirGradient) {
  for (const char *row : {"cuda_sm90", "opencl_gpu"}) {
    const Step step(narrow(row), Sharing::Any, kPool);
    ASSERT_EQ(step.launches.size(), 3U) << row;
    ASSERT_EQ(step.launches[0].parts.size(), 2U) << row;
    EXPECT_EQ(step.launches[0].parts[1].place, Place::Following) << row;
    ASSERT_EQ(step.launches[2].parts.size(), 4U) << row;
    EXPECT_EQ(step.launches[2].parts[3].place, Place::Following) << row;
    EXPECT_EQ(pooled(step), pooled({narrow(row), Sharing::None, kPool})) << row;
  }
}

// One launch of few blocks would leave multiprocessors idle.
TEST(Following, OfFewBlocksNoneDoes) {
  const Step step("cuda_sm90", Sharing::Any, kPool);
  for (const launch::Launch &launch : step.launches)
    for (const launch::Part &part : launch.parts)
      EXPECT_NE(part.place, Place::Following);
}

} // namespace
} // namespace tilefuse::lower
