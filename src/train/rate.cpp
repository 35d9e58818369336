// SPDX-License-Identifier: Apache-2.0
#include "train/rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tilefuse::train {
namespace {

// From `begin` to `end` along half a cosine; `share` in 0..1.
double cosine(double begin, double end, double share) {
  return end + (begin - end) / 2 * (1 + std::cos(std::numbers::pi * share));
}

double stepped(const Recipe &recipe, double epoch) {
  const auto passed = std::count_if(recipe.rate.milestones.begin(), recipe.rate.milestones.end(),
                                    [&](double milestone) { return epoch >= milestone; });
  return recipe.optimizer.rate * std::pow(recipe.rate.factor, static_cast<double>(passed));
}

// OneCycleLR: phases end on the steps share*total - 1 and total - 1.
double one_cycle(const Recipe &recipe, double step, double warmup, double total) {
  constexpr double kBegin = 25;  // div_factor
  constexpr double kEnd = 1e4;   // final_div_factor
  constexpr double kShare = 0.3; // pct_start
  const double most = recipe.optimizer.rate;
  const double least = recipe.rate.floor > 0 ? recipe.rate.floor : most / kBegin / kEnd;
  const double top = (warmup > 0 ? warmup : kShare * total) - 1;
  if (step <= top)
    return cosine(most / kBegin, most, top > 0 ? step / top : 1);
  const double down = total - 1 - top;
  return cosine(most, least, down > 0 ? (step - top) / down : 1);
}

} // namespace

double rate_at(const Recipe &recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  TILEFUSE_CHECK(steps_per_epoch > 0, "an epoch without steps");
  const auto epoch_steps = static_cast<double>(steps_per_epoch);
  const double total = static_cast<double>(recipe.steps.epochs) * epoch_steps;
  const double warmup = std::min(std::round(recipe.rate.warmup_epochs * epoch_steps), total);
  const double at = std::min(static_cast<double>(step), total - 1);
  if (recipe.rate.kind == "one_cycle")
    return one_cycle(recipe, at, warmup, total);
  if (at < warmup)
    return recipe.optimizer.rate * ((at + 1) / warmup);
  const double share = (at - warmup) / (total - warmup);
  if (recipe.rate.kind == "step")
    return stepped(recipe, at / epoch_steps);
  if (recipe.rate.kind == "cosine")
    return cosine(recipe.optimizer.rate, recipe.rate.floor, share);
  if (recipe.rate.kind == "poly")
    return recipe.rate.floor +
           (recipe.optimizer.rate - recipe.rate.floor) * std::pow(1 - share, recipe.rate.power);
  TILEFUSE_CHECK(recipe.rate.kind == "constant", "a kind of rate without a formula");
  return recipe.optimizer.rate;
}

} // namespace tilefuse::train
