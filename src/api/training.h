// SPDX-License-Identifier: Apache-2.0
// Training as all clients have it: a trainer that makes steps when it is told to, whole runs in a
// folder, how well a model does, and kernels of a step against the reference. Each holds the engine's
// mutex while it works. What is said for people goes to the engine's log.
//
//   Training training{.recipe = read_recipe("recipe.toml")};
//   set(training, "optimizer.rate", "0.05");
//   Trainer trainer(engine, training, {});
//   trainer.step(100, {});
//   trainer.save("trained.onnx");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/engine.h"
#include "api/network.h"
#include "api/work.h"
#include "train/recipe.h"
#include "train/run.h"
#include "train/trainer.h"

namespace tilefuse::api {

// What is trained and how; the last three are of whole runs.
struct Training {
  train::Recipe recipe;
  search::FusionSettings fusion;
  std::string folder;
  bool resumes = false;
  bool forces = false;
};

// The recipe in a file; of a model's file (.onnx) one that trains it at a rate of 0.01.
train::Recipe read_recipe(const std::string &path);

// A key of recipes ("optimizer.rate"), fuse, folder, resume or force. Error{Unsupported} for another
// names the nearest key.
void set(Training &training, const std::string &key, const std::string &value);

// Over the steps of one call: means, and what the last one left.
struct StepSummary {
  std::int64_t made = 0; // in this call
  train::StepReport last;
  double loss = 0;
  double top1 = 0;
  double seconds = 0; // of all
  double waited = 0;  // of these, for pictures
  std::int64_t skipped = 0;
};

class Trainer {
public:
  // A recipe without data.train makes a trainer that evaluates the model as it is, and nothing else.
  Trainer(std::shared_ptr<Engine> engine, const Training &training, const Progress &progress);
  ~Trainer();
  Trainer(const Trainer &) = delete;
  Trainer &operator=(const Trainer &) = delete;

  // Makes so many steps, fewer where the run ends. What was made stays when it is cancelled.
  // Error{Unsupported} behind the last.
  StepSummary step(std::int64_t steps, const Progress &progress);
  // On the recipe's test data.
  train::Evaluation evaluate(const Progress &progress);
  // By what the name ends in: .onnx the model with what it has learned, .safetensors all that the
  // steps to come depend on.
  void save(const std::string &path);
  // Goes on from a checkpoint of the same recipe's model and optimiser.
  void restore(const std::string &path);
  // Seconds of steps, and the kernels of one. Everything is afterwards as it was.
  Timing time(int repeat, const Progress &progress);
  // Every kernel of a step from the recipe's beginning, as verdict() has it.
  std::string verify(std::int64_t samples, const Progress &progress);

  struct Info {
    std::int64_t step = 0;
    std::int64_t steps = 0;
    std::int64_t steps_per_epoch = 0;
    train::TrainingMemory memory;
    std::string text; // for people
  };
  Info info();

private:
  train::Trainer &trainer();

  std::shared_ptr<Engine> engine_;
  Training training_;
  std::unique_ptr<train::Trainer> trainer_; // null where the recipe trains nothing
};

// How well the recipe's model does on its test data, as its file has it.
train::Evaluation evaluate(Engine &engine, const Training &training, const Progress &progress);

// What a client is told of a run beside the log.
struct RunWatch {
  train::Rendezvous *workers = nullptr; // that share the steps; null: this one makes them alone
  Progress compiling;                   // kernels
  std::function<void(const train::StepReport &)> on_step; // each
  std::function<bool()> is_stopped; // true ends the run behind the step, with a checkpoint
};
// How a trainer of such a run is made.
train::TrainerOptions trainer_options(const Engine &engine, const Training &training,
                                      const RunWatch &watch);
// A whole run in the training's folder, of its recipe's model and data. Its lines go to `say`.
train::RunResult train_run(Engine &engine, const Training &training, train::Setup setup,
                           const RunWatch &watch,
                           const std::function<void(const std::string &)> &say);

// The same with its lines in the engine's log; `progress` is told of kernels, then of steps.
// Error{Cancelled} behind the step at which it ends the run.
train::RunResult run_to_end(Engine &engine, const Training &training, const Progress &progress);

// "epoch  3/20  78 steps  loss 1.2345 …".
std::string epoch_line(const train::EpochReport &epoch, std::int64_t epochs);
// Where the best and the last model of a run lie.
std::string result_text(const train::RunResult &result, const std::string &folder);

} // namespace tilefuse::api
