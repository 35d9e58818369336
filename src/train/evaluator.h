// SPDX-License-Identifier: Apache-2.0
// How well a model classifies pictures: loss and hits over all of a source.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "data/loader.h"
#include "data/source.h"
#include "runtime/workers/star.h"
#include "train/phase.h"
#include "train/step_program.h"

namespace tilefuse::train {

struct Evaluation {
  std::int64_t count = 0;
  std::int64_t hits = 0;
  double loss = 0; // mean over all pictures
  double top1() const {
    return count > 0 ? static_cast<double>(hits) / static_cast<double>(count) : 0;
  }
};

// Error{Shape} for a label that the model has no class for; -1 stands for no picture.
void check_labels(std::span<const std::int32_t> labels, std::int64_t classes);

class Evaluator {
public:
  // Parameters of the pool, the inputs behind pictures and labels, lie in `placed`; with an empty
  // pool the model has its own.
  Evaluator(const onnx_import::Model &model, const ParameterPool &pool, const Task &task,
            const Compilation &compilation, std::span<const model::PlacedPort> placed);

  // Pictures have the task's form. `progress`, which may be empty, is told of batches; what it
  // throws ends the work. With a star each worker judges its share of the batches, and gets the sum
  // of all.
  Evaluation run(const data::Source &source, int threads,
                 const std::function<void(int done, int total)> &progress,
                 runtime::Star *star = nullptr);
  const Phase &phase() const { return phase_; }

private:
  // Its loss is the sum over the pictures.
  Evaluation judge(const data::Batch &batch);
  Evaluator(const StepProgram &step, std::int64_t batch, const Compilation &compilation,
            std::span<const model::PlacedPort> placed);

  std::int64_t batch_;
  std::int64_t classes_;
  Phase phase_;
};

} // namespace tilefuse::train
