// SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "data/loader.h"

namespace tilefuse::train {

void check_labels(std::span<const std::int32_t> labels, std::int64_t classes) {
  for (const std::int32_t label : labels)
    if (label >= classes)
      throw Error(ErrorCode::Shape,
                  fmt::format("a picture has label {}; the model tells {} classes apart", label,
                              classes),
                  {}, {fmt::format("parameters.classes = {} gives it a new head", label + 1)});
}

Evaluator::Evaluator(const onnx_import::Model &model, const ParameterPool &pool, const Task &task,
                     const Compilation &compilation, std::span<const model::PlacedPort> placed)
    : Evaluator(evaluation_program(model, pool, task), task.batch, compilation, placed) {}

Evaluator::Evaluator(const StepProgram &step, std::int64_t batch, const Compilation &compilation,
                     std::span<const model::PlacedPort> placed)
    : batch_(batch), classes_(step.classes), phase_(step.program, compilation, placed) {}

Evaluation Evaluator::run(const data::Source &source, int threads,
                          const std::function<void(int, int)> &progress) {
  data::Loader loader(source, {.batch = batch_,
                               .is_training = false,
                               .threads = threads});
  Evaluation result;
  const std::int64_t batches = data::epoch_steps(source.count(), batch_, false);
  while (loader.more()) {
    const data::Batch &next = loader.next();
    if (progress)
      progress(static_cast<int>(next.step), static_cast<int>(batches));
    check_labels(next.labels, classes_);
    phase_.write(0, std::as_bytes(std::span(next.pixels)));
    phase_.write(1, std::as_bytes(std::span(next.labels)));
    phase_.launch();
    result.count += next.count;
    result.loss += static_cast<double>(phase_.number(0)) * static_cast<double>(batch_);
    result.hits += std::lround(phase_.number(1));
  }
  result.loss /= static_cast<double>(std::max<std::int64_t>(result.count, 1));
  return result;
}

} // namespace tilefuse::train
