// SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::train {

void check_labels(std::span<const std::int32_t> labels, std::int64_t classes) {
  for (const std::int32_t label : labels)
    if (label >= classes)
      throw Error(ErrorCode::Shape,
                  fmt::format("a picture has label {}; the model tells {} classes apart", label,
                              classes),
                  {}, {fmt::format("parameters.classes = {} gives it a new head", label + 1)});
}

namespace {

// The results of each worker's batches.
std::vector<std::vector<Evaluation>> gathered(const std::vector<Evaluation> &own,
                                              runtime::Star &star) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(own));
  std::vector<std::vector<Evaluation>> all;
  for (const std::string &part :
       star.gather({reinterpret_cast<const char *>(bytes.data()), bytes.size()})) {
    all.emplace_back(part.size() / sizeof(Evaluation));
    std::memcpy(all.back().data(), part.data(), all.back().size() * sizeof(Evaluation));
  }
  return all;
}

// In the order of the batches, of which each worker has every so manieth: the same bits for any
// number of workers.
Evaluation sum(const std::vector<std::vector<Evaluation>> &by_worker) {
  Evaluation result;
  for (std::size_t n = 0; n < by_worker.front().size(); ++n)
    for (const std::vector<Evaluation> &each : by_worker)
      if (n < each.size()) {
        result.count += each[n].count;
        result.hits += each[n].hits;
        result.loss += each[n].loss;
      }
  result.loss /= static_cast<double>(std::max<std::int64_t>(result.count, 1));
  return result;
}

} // namespace

Evaluator::Evaluator(const onnx_import::Model &model, const ParameterPool &pool, const Task &task,
                     const Compilation &compilation, std::span<const model::PlacedPort> placed)
    : Evaluator(evaluation_program(model, pool, task), task.batch, compilation, placed) {}

Evaluator::Evaluator(const StepProgram &step, std::int64_t batch, const Compilation &compilation,
                     std::span<const model::PlacedPort> placed)
    : batch_(batch), classes_(step.classes), phase_(step.program, compilation, placed) {}

Evaluation Evaluator::judge(const data::Batch &batch) {
  check_labels(batch.labels, classes_);
  phase_.write(0, std::as_bytes(std::span(batch.pixels)));
  phase_.write(1, std::as_bytes(std::span(batch.labels)));
  phase_.launch();
  return {batch.count, std::lround(phase_.number(1)),
          static_cast<double>(phase_.number(0)) * static_cast<double>(batch_)};
}

Evaluation Evaluator::run(const data::Source &source, int threads,
                          const std::function<void(int, int)> &progress, runtime::Star *star) {
  const int workers = star == nullptr ? 1 : star->count();
  data::LoaderOptions options{.batch = batch_, .is_training = false, .threads = threads};
  options.share = {.round = workers, .first = star == nullptr ? 0 : star->rank(), .count = 1};
  std::vector<Evaluation> own;
  data::Loader loader(source, options);
  const std::int64_t batches = data::epoch_steps(source.count(), batch_, false);
  while (loader.more()) {
    const data::Batch &next = loader.next();
    if (progress)
      progress(static_cast<int>(next.step), static_cast<int>(batches));
    own.push_back(judge(next));
  }
  return sum(star == nullptr ? std::vector<std::vector<Evaluation>>{own} : gathered(own, *star));
}

} // namespace tilefuse::train
