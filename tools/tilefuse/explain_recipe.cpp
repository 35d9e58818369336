// SPDX-License-Identifier: Apache-2.0
#include "explain_recipe.h"

#include <fmt/format.h>

#include "api/engine.h"
#include "api/training.h"
#include "output.h"
#include "train/lanes/scaling.h"
#include "train/trainer.h"

namespace tilefuse::tool {
namespace {

constexpr int kWarmUps = 3; // steps before kernels are timed
constexpr int kProfiled = 5;

double step_seconds(train::Trainer &trainer) {
  for (int step = 0; step < kWarmUps; ++step)
    trainer.run_step();
  double seconds = 0;
  for (const model::KernelReport &kernel : trainer.profile(kProfiled))
    seconds += kernel.seconds;
  return seconds;
}

} // namespace

report::Document explain_recipe(const std::string &file, const ModelOptions &on, int workers) {
  const api::Training training{.recipe = api::read_recipe(file)};
  train::check(training.recipe);
  api::Engine engine(on.device, on, log_to_stderr());
  train::Trainer trainer(training.recipe, *engine.device, *engine.cache,
                         api::trainer_options(engine, training, {}));
  const train::ParameterPool &pool = trainer.parameters();
  const double narrow = training.recipe.steps.parts == "bf16"
                            ? static_cast<double>(pool.trained) / static_cast<double>(pool.rows)
                            : 0;
  const train::ScalingStep step{.seconds = step_seconds(trainer),
                                .bytes = pool.bytes(),
                                .pictures = training.recipe.steps.batch,
                                .parts = 1 - narrow / 2};
  report::Document document;
  document.text("explanation", fmt::format("device   {} ({}; {})\n{}{}", engine.device->name(),
                                           engine.device->target().name, engine.choice.why,
                                           trainer.describe(), train::scaling_text(step, workers)));
  return document;
}

} // namespace tilefuse::tool
