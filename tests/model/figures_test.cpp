// SPDX-License-Identifier: Apache-2.0
// The cost model's figures of named algorithms on awkward convolutions are those of a simulation.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "cost/model.h"
#include "kernel/live_registers.h"
#include "lower/algorithm_cases.h"
#include "lower/pipeline.h"
#include "model/oracle/simulate_group.h"
#include "report/figures.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse::model {
namespace {

std::vector<report::Figure> figures_of(const nest::Nest &nest, const schedule::Schedule &schedule,
                                       const Target &target) {
  const SimulatedGroup run = simulate_group({.anchor = nest}, schedule, target, {});
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.different, 0);
  return report::compare_figures(run.counts, run.kernel, cost::figures(nest, schedule, target));
}

// How far the figures of one name are off, over all cases.
struct Tally {
  int cases = 0;
  int differ = 0; // at all
  int by_half = 0;
  int twofold = 0;
};

TEST(Figures, OfTheModelAreThoseOfASimulation) {
  Target target = testing::target_row("opencl_nvidia");
  target.vector_registers = 1024; // kernels that would spill are counted too
  std::map<std::string, Tally> tallies;
  for (const testing::ConvShape &shape : testing::awkward_shapes()) {
    const nest::Nest nest = testing::conv_nest(shape);
    for (const std::string &name : search::algorithm_names()) {
      const search::NamedSchedule named = search::named_schedule(name, nest, target);
      if (!named.schedule)
        continue;
      for (const report::Figure &figure : figures_of(nest, *named.schedule, target)) {
        Tally &tally = tallies[figure.what];
        ++tally.cases;
        tally.differ += report::differs(figure, 1.0001) ? 1 : 0;
        tally.by_half += report::differs(figure, 1.5) ? 1 : 0;
        tally.twofold += report::differs(figure, 2) ? 1 : 0;
        if (figure.exact) {
          EXPECT_EQ(figure.predicted, figure.simulated)
              << figure.what << "\n"
              << nest::to_text(nest) << to_text(nest, *named.schedule);
        }
      }
    }
  }
  for (const auto &[what, tally] : tallies)
    std::printf("%-30s %d cases: %d differ, %d by half, %d twofold\n", what.c_str(), tally.cases,
                tally.differ, tally.by_half, tally.twofold);
  for (const char *what : {"global sectors asked for", "global bytes by block"})
    EXPECT_LE(tallies[what].twofold, 5) << what;
  EXPECT_EQ(tallies["global bytes of the grid"].by_half, 0);
  EXPECT_GE(tallies["blocks"].cases, 70);
}

// Also the offsets of what a work-item copies: many, where a small block stages a large tile.
TEST(Figures, WhatIsPickedFitsTheRegistersOfItsTarget) {
  std::vector<testing::ConvShape> shapes = testing::awkward_shapes();
  shapes.push_back({.outputs = 64,
                    .inputs = 16,
                    .height = 13,
                    .width = 5,
                    .stride = 3,
                    .before = 2,
                    .after = 2});
  shapes.push_back(
      {.outputs = 70, .inputs = 17, .height = 13, .width = 13, .stride = 2, .dilation = 2});
  for (const char *name :
       {"opencl_mali", "opencl_adreno", "opencl_gpu", "opencl_intel", "opencl_amd"})
    for (const testing::ConvShape &shape : shapes) {
      const Target target = testing::target_row(name);
      const nest::Nest nest = testing::conv_nest(shape);
      const kernel::Kernel kernel =
          lower::lower({.anchor = nest}, search::pick(nest, target), target);
      EXPECT_LE(kernel::live_registers(kernel), target.vector_registers) << kernel.name;
    }
}

} // namespace
} // namespace tilefuse::model
