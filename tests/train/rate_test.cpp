// SPDX-License-Identifier: Apache-2.0
// Rates against figures that PyTorch's schedulers give or document.
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "train/rate.h"

namespace tilefuse::train {
namespace {

Recipe recipe_of(const std::string &kind, double rate, std::int64_t epochs) {
  Recipe recipe;
  recipe.optimizer.rate = rate;
  recipe.rate.kind = kind;
  recipe.steps.epochs = epochs;
  return recipe;
}

TEST(Rate, constant) {
  const Recipe recipe = recipe_of("constant", 0.02, 3);
  for (const std::int64_t step : {0, 5, 29, 1000})
    EXPECT_EQ(rate_at(recipe, step, 10), 0.02);
}

// The example of MultiStepLR's documentation: 0.05 before epoch 30, 0.005 before 80, then 0.0005.
TEST(Rate, steps) {
  Recipe recipe = recipe_of("step", 0.05, 100);
  recipe.rate.milestones = {30, 80};
  EXPECT_DOUBLE_EQ(rate_at(recipe, 30 * 7 - 1, 7), 0.05);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 30 * 7, 7), 0.005);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 80 * 7 - 1, 7), 0.005);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 80 * 7, 7), 0.0005);
}

// CosineAnnealingLR(T_max=4): cos(0), cos(pi/4), …; the schedule would end on its floor one step after the run.
TEST(Rate, cosine) {
  Recipe recipe = recipe_of("cosine", 1, 4);
  const double half = std::sqrt(0.5);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 0, 1), 1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 1, 1), (1 + half) / 2);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 2, 1), 0.5);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 3, 1), (1 - half) / 2);
  recipe.rate.floor = 0.2;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 2, 1), 0.6);
}

// The example of PolynomialLR's documentation: 0.001 over four steps of power 1.
TEST(Rate, poly) {
  Recipe recipe = recipe_of("poly", 0.001, 4);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 1, 1), 0.00075);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 2, 1), 0.0005);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 3, 1), 0.00025);
  recipe.rate.power = 2;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 2, 1), 0.00025);
}

// OneCycleLR(max_lr=1, total_steps=10): up to step 2, down to step 9.
TEST(Rate, one_cycle) {
  Recipe recipe = recipe_of("one_cycle", 1, 10);
  EXPECT_NEAR(rate_at(recipe, 0, 1), 0.04, 1e-15);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 1, 1), 0.52);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 2, 1), 1);
  EXPECT_NEAR(rate_at(recipe, 3, 1), 0.9504846320134737, 1e-12);
  EXPECT_NEAR(rate_at(recipe, 9, 1), 4e-6, 1e-15);
  recipe.rate.floor = 0.01;
  EXPECT_NEAR(rate_at(recipe, 9, 1), 0.01, 1e-15);
}

TEST(Rate, warm_up_rises_and_the_schedule_begins_behind_it) {
  Recipe recipe = recipe_of("cosine", 1, 5);
  recipe.rate.warmup_epochs = 1;
  for (const std::int64_t step : {0, 1, 2, 3})
    EXPECT_DOUBLE_EQ(rate_at(recipe, step, 4), static_cast<double>(step + 1) / 4);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 4, 4), 1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 12, 4), 0.5);
}

// Made by PyTorch 1.13.1: 30 steps, 3 an epoch; with a warm-up SequentialLR of LinearLR(1/6, 1, 5) and the schedule.
TEST(Rate, is_pytorchs) {
  constexpr std::array<std::int64_t, 7> kSteps = {0, 4, 5, 6, 7, 15, 29};
  struct Case {
    Recipe::Rate rate;
    std::array<double, 7> rates;
  };
  const std::vector<Case> cases = {
      {{.kind = "cosine", .floor = 0.001},
       {0.1, 0.09572050015330873, 0.09336825748732971, 0.0905463412215599, 0.08728566886113101,
        0.05050000000000001, 0.0012711661792704665}},
      {{.kind = "poly", .power = 2},
       {0.1, 0.07511111111111113, 0.06944444444444446, 0.06400000000000002, 0.05877777777777778,
        0.025, 0.00011111111111111116}},
      {{.kind = "step", .milestones = {3, 7}, .factor = 0.2},
       {0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.004}},
      {{.kind = "one_cycle"},
       {0.004, 0.052000000000000005, 0.0703688047535243, 0.08594112549695429, 0.09634621756054176,
        0.0750001, 4e-07}},
      {{.kind = "cosine", .warmup_epochs = 2},
       {0.016666666666666666, 0.08333333333333334, 0.1, 0.1, 0.09957224306869053,
        0.06913417161825448, 0.00042775693130948076}},
      {{.kind = "poly", .warmup_epochs = 2, .power = 0.9},
       {0.016666666666666666, 0.08333333333333334, 0.1, 0.1, 0.09624206546198262,
        0.06550764934180989, 0.005725453376319319}},
      {{.kind = "step", .warmup_epochs = 2, .milestones = {3, 7}, .factor = 0.2},
       {0.016666666666666666, 0.08333333333333334, 0.1, 0.1, 0.1, 0.02, 0.004}},
      {{.kind = "one_cycle", .warmup_epochs = 2},
       {0.004, 0.09083281572999748, 0.1, 0.09957224477971825, 0.09829629812928815,
        0.06294110049131701, 4e-07}},
  };
  for (const Case &each : cases) {
    Recipe recipe = recipe_of(each.rate.kind, 0.1, 10);
    recipe.rate = each.rate;
    for (std::size_t i = 0; i < kSteps.size(); ++i)
      EXPECT_NEAR(rate_at(recipe, kSteps[i], 3), each.rates[i], 1e-12 * each.rates[i] + 1e-16)
          << each.rate.kind << " " << each.rate.warmup_epochs << " " << kSteps[i];
  }
}

TEST(Rate, a_limit_of_steps_changes_no_rate) {
  Recipe recipe = recipe_of("cosine", 1, 5);
  const double before = rate_at(recipe, 3, 4);
  recipe.steps.limit = 4;
  EXPECT_EQ(rate_at(recipe, 3, 4), before);
}

TEST(Rate, is_finite_everywhere) {
  for (const char *kind : {"constant", "step", "cosine", "poly", "one_cycle"})
    for (const double warmup : {0.0, 0.5, 1.0, 3.0})
      for (const std::int64_t epochs : {1, 2, 3})
        for (std::int64_t step = 0; step < 9; ++step) {
          Recipe recipe = recipe_of(kind, 0.1, epochs);
          recipe.rate.warmup_epochs = warmup;
          const double rate = rate_at(recipe, step, 1);
          EXPECT_TRUE(rate >= 0 && rate <= 0.1) << kind << " " << rate;
        }
}

} // namespace
} // namespace tilefuse::train
