// SPDX-License-Identifier: Apache-2.0
// Training on one device: steps, evaluations, and the state between them.
//
//   Trainer trainer(recipe, device, cache, options);
//   while (trainer.step() < trainer.steps())
//     trainer.run_step();
//
// A step is two programs, launched one behind the other: gradients into the pool "learned", then the
// update of the pools in place. With lanes (lanes/lane_sum.h) the first runs once for each, and beside the
// last of them workers sum what they learned (lanes/exchange.h); each then makes the same update. The
// host copies the next pictures in and reads loss and hits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/plan/waiting.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "train/checkpoint.h"
#include "train/evaluator.h"
#include "train/lanes/rendezvous.h"
#include "train/parameters.h"
#include "train/recipe.h"
#include "train/setup.h"

namespace tilefuse::train {

struct TrainerOptions {
  model::SessionOptions session; // how both programs are compiled
  Rendezvous *workers = nullptr; // that share the steps; null: this one makes them alone
  std::function<void(const std::string &)> warn;
};

struct StepReport {
  std::int64_t step = 0;  // that were made, this one among them
  std::int64_t steps = 0; // of the whole run
  std::int64_t epoch = 0;
  double rate = 0;
  double loss = 0;          // mean over the pictures of all lanes
  std::int64_t hits = 0;    // pictures classified right, before the update
  double gradient_norm = 0; // of all gradients, without the loss scale
  double scale = 1;         // the loss scale
  bool is_skipped = false;  // a gradient was not finite: parameters stayed
  bool is_last = false;     // one of the workers asked for the end
  double seconds = 0;       // from the end of the step before
  double waited = 0;        // of these, for pictures
  double exchanged = 0;     // of these, for other workers behind the last gradient
};

// Bytes of device memory, of the steps and, where there are test data, of evaluating.
struct TrainingMemory {
  std::int64_t activations = 0;
  std::int64_t parameters = 0; // with gradients and what the optimiser keeps
  std::int64_t constants = 0;
  std::int64_t all() const { return activations + parameters + constants; }
};

class Trainer {
public:
  // Compiles. The device and the cache outlive the trainer. Error{Unsupported|Shape|Io} for what does
  // not fit together.
  Trainer(Setup setup, runtime::Device &device, runtime::KernelCache &cache,
          const TrainerOptions &options);
  ~Trainer();
  Trainer(const Trainer &) = delete;
  Trainer &operator=(const Trainer &) = delete;

  std::int64_t step() const;  // that were made
  std::int64_t steps() const; // of the whole run
  std::int64_t steps_per_epoch() const;
  const ParameterPool &parameters() const;
  TrainingMemory memory() const;
  // Under steps.memory_gb: which tensors of a lane's gradients are computed again, and why.
  std::vector<model::WaitingTensor> waiting() const;
  // What to do about steps that waited this share of the time for pictures (starvation.h).
  std::string starvation(double waited) const;
  // Lines for people: model, loss, data, step, memory.
  std::string describe() const;

  // Error{Unsupported} after kMostSkips steps in a row that were skipped; it names the first
  // gradient that is not finite. Whether a worker asks for the end is told to all.
  StepReport run_step(bool asks_for_end = false);
  // Times of a step's kernels, numbered as they are launched, by the device's clock: of `passes` steps, that of median length.
  // What is learned in them counts for nothing: restore() a snapshot.
  std::vector<model::KernelReport> profile(int passes);
  bool has_test_data() const;
  // Of what export_model() writes, on the test data, shared by the workers, with the running statistics; `progress` is told of
  // batches. Error{Unsupported} without test data.
  Evaluation evaluate(const std::function<void(int done, int total)> &progress = {});

  // Whether workers keep parts of the state, so that snapshot() is made by all of them together.
  bool has_shards() const;
  // Everything that the steps to come depend on.
  Checkpoint snapshot();
  // Error{Shape} where the checkpoint is of another model or another recipe.
  void restore(const Checkpoint &checkpoint);
  // The model that was read, with the trained parameters, or by keep.ema their average.
  void export_model(const std::string &path);

private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr int kMostSkips = 20;

} // namespace tilefuse::train
