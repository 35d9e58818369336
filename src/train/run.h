// SPDX-License-Identifier: Apache-2.0
// A whole training run in a folder: steps, evaluations after each epoch, checkpoints, the log, and
// the trained model:
//
//   recipe.toml   the recipe, complete
//   log.csv       a row per epoch, and within it by keep.log_steps (log.h)
//   events.out.tfevents.…   the same and the evaluations for TensorBoard, where keep.tensorboard asks for it
//   step-….safetensors   checkpoints (checkpoint.h)
//   last.onnx     the model at the end; best.onnx where test data say which was best
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/trainer.h"

namespace tilefuse::train {

struct EpochReport {
  std::int64_t epoch = 0; // from 1
  std::int64_t steps = 0; // of it
  double loss = 0;        // mean over its steps
  double top1 = 0;        // share of its pictures that were classified right
  double seconds = 0;
  double images_per_second = 0;
  double waited = 0;      // share of the time
  std::int64_t skipped = 0;
  std::optional<Evaluation> test;
  bool is_best = false;
};

struct RunOptions {
  std::string folder;
  bool resumes = false; // from the newest checkpoint of the folder
  bool forces = false;  // also where the recipe differs from the checkpoint's
  TrainerOptions trainer;
  std::function<void(const std::string &)> say;     // lines for people
  std::function<void(const StepReport &)> on_step;  // each
  std::function<void(const EpochReport &)> on_epoch;
  std::function<bool()> is_stopped; // true ends the run behind the step, with a checkpoint
};

struct RunResult {
  std::int64_t step = 0;
  bool is_complete = false; // else it was stopped
  std::optional<Evaluation> before; // of the model that was read, where there are test data
  std::optional<Evaluation> last;
  std::optional<Evaluation> best;
  std::int64_t best_epoch = 0;
};

// Error{Io} where the folder holds a run already and `resumes` is not said, and where it is said and
// there is none. Error{Shape} where the recipe differs from that of the checkpoint.
RunResult run(Setup setup, runtime::Device &device, runtime::KernelCache &cache,
              const RunOptions &options);

} // namespace tilefuse::train
