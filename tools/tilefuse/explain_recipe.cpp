// SPDX-License-Identifier: Apache-2.0
#include "explain_recipe.h"

#include <fmt/format.h>

#include "api/engine.h"
#include "api/training.h"
#include "output.h"
#include "report/waiting.h"
#include "train/lanes/scaling.h"
#include "train/trainer.h"

namespace tilefuse::tool {
namespace {

constexpr int kWarmUps = 3; // steps before kernels are timed
constexpr int kProfiled = 5;
constexpr std::size_t kMostKept = 10; // tensors that are shown

double step_seconds(train::Trainer &trainer) {
  for (int step = 0; step < kWarmUps; ++step)
    trainer.run_step();
  double seconds = 0;
  for (const model::KernelReport &kernel : trainer.profile(kProfiled))
    seconds += kernel.seconds;
  return seconds;
}

} // namespace

report::Document explain_recipe(const std::string &file, const ModelOptions &on,
                                const RecipeQuestions &asked) {
  api::Training training{.recipe = api::read_recipe(file)};
  train::Recipe &recipe = training.recipe;
  if (!asked.memory.empty())
    train::set(recipe, "steps.memory_gb=" + asked.memory);
  train::check(recipe);
  api::Engine engine(on.device, on, log_to_stderr());
  train::Trainer trainer(recipe, *engine.device, *engine.cache,
                         api::trainer_options(engine, training, {}));
  report::Document document;
  document.text("explanation",
                fmt::format("device   {} ({}; {})\n{}", engine.device->name(),
                            engine.device->target().name, engine.choice.why, trainer.describe()));
  if (recipe.steps.memory_gb > 0)
    document.table("waiting", report::waiting_table(trainer.waiting(), kMostKept));
  const train::ParameterPool &pool = trainer.parameters();
  const double narrow = recipe.steps.parts == "bf16"
                            ? static_cast<double>(pool.trained) / static_cast<double>(pool.rows)
                            : 0;
  const train::ScalingStep step{.seconds = step_seconds(trainer),
                                .bytes = pool.bytes(),
                                .pictures = recipe.steps.batch,
                                .parts = 1 - narrow / 2};
  document.text("scaling", train::scaling_text(step, asked.workers));
  return document;
}

} // namespace tilefuse::tool
