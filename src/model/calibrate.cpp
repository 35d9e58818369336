// SPDX-License-Identifier: Apache-2.0
#include "model/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "model/session.h"
#include "program/precision/quantize.h"

namespace tilefuse::model {
namespace {

using program::HostTensor;
using program::Program;
using program::Role;
using program::TensorId;

constexpr std::int64_t kPart = 1 << 18; // elements that a thread looks at at once

// All elements by their magnitude, parts of them side by side.
template <typename Take>
void each_magnitude(const HostTensor &tensor, ThreadPool &pool, const Take &take) {
  const std::int64_t count = program::elems(tensor.shape);
  pool.parallel_for((count + kPart - 1) / kPart, [&](int, std::int64_t part) {
    for (std::int64_t i = part * kPart; i < std::min(count, (part + 1) * kPart); ++i)
      take(part, i, static_cast<float>(std::fabs(get(tensor, i))));
  });
}

// The magnitude that `percentile` percent of the elements do not exceed.
double magnitude(const HostTensor &tensor, double percentile, ThreadPool &pool) {
  const std::int64_t count = program::elems(tensor.shape);
  if (count == 0)
    return 0;
  if (percentile == 100) {
    std::vector<float> largest(static_cast<std::size_t>((count + kPart - 1) / kPart), 0);
    each_magnitude(tensor, pool, [&](std::int64_t part, std::int64_t, float value) {
      float &most = largest[at(part)];
      most = std::max(most, value);
    });
    return *std::max_element(largest.begin(), largest.end());
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  each_magnitude(tensor, pool,
                 [&](std::int64_t, std::int64_t i, float value) { values[at(i)] = value; });
  const auto last = static_cast<double>(count - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(last * percentile / 100);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Views, copies and maxima hold what they have read: the tensors that computed it.
class Sources {
public:
  explicit Sources(const Program &program) : program_(program) {
    for (const program::Statement &statement : program.statements)
      made_by_[statement.out] = &statement;
  }

  std::vector<TensorId> of(TensorId id) const {
    std::set<TensorId> found;
    collect(id, found);
    return {found.begin(), found.end()};
  }

private:
  void collect(TensorId id, std::set<TensorId> &found) const {
    const auto made = made_by_.find(id);
    if (made == made_by_.end() || !moves(*made->second)) {
      found.insert(id);
      return;
    }
    for (const TensorId read : program::reads(*made->second))
      collect(read, found);
  }

  static bool moves(const program::Statement &statement) {
    if (std::holds_alternative<program::View>(statement.body))
      return true;
    const auto *body = std::get_if<program::Contraction>(&statement.body);
    return body != nullptr && body->comb == program::Comb::None && body->agg != program::Agg::Sum &&
           body->agg != program::Agg::Product;
  }

  const Program &program_;
  std::map<TensorId, const program::Statement *> made_by_;
};

HostTensor constant_of(const program::Tensor &tensor) {
  return {tensor.name, tensor.type, tensor.shape, *tensor.data};
}

// The program with what it is to show as further outputs.
struct Probe {
  Program program;
  std::size_t own = 0;            // outputs of the program itself
  std::map<TensorId, int> places; // of temporaries among all outputs
};

Probe probe_of(const Program &program, const std::set<TensorId> &wanted) {
  Probe probe{program, program.outputs.size(), {}};
  for (std::size_t k = 0; k < probe.own; ++k)
    probe.places.emplace(program.outputs[k], static_cast<int>(k));
  for (const TensorId id : wanted)
    if (program[id].role == Role::Temporary &&
        probe.places.emplace(id, static_cast<int>(probe.program.outputs.size())).second)
      probe.program.outputs.push_back(id);
  return probe;
}

} // namespace

Calibration calibrate(const Program &program, std::span<const Runs::value_type> runs,
                      double percentile, runtime::Device &device, runtime::KernelCache &cache) {
  if (runs.empty())
    throw Error(ErrorCode::Unsupported, "there are no inputs to calibrate with");
  const std::vector<TensorId> needed = program::tensors_to_calibrate(program);
  const Sources sources(program);
  std::set<TensorId> wanted;
  for (const TensorId id : needed)
    for (const TensorId source : sources.of(id))
      wanted.insert(source);
  const Probe probe = probe_of(program, wanted);
  Session session(probe.program, device, cache, {.is_simplified = true});
  Calibration result{std::vector<double>(program.tensors.size(), 0), {}};
  std::map<TensorId, double> largest;
  ThreadPool pool(available_threads());
  const auto note = [&](TensorId id, const HostTensor &tensor) {
    largest[id] = std::max(largest[id], magnitude(tensor, percentile, pool));
  };
  for (const TensorId id : wanted)
    if (program[id].role == Role::Constant)
      note(id, constant_of(program[id]));
  for (const Runs::value_type &inputs : runs) {
    std::vector<HostTensor> outputs = session.run(inputs);
    for (const auto &[id, place] : probe.places)
      if (wanted.contains(id))
        note(id, outputs[at(place)]);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (wanted.contains(program.inputs[k]))
        note(program.inputs[k], inputs[k]);
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(probe.own), outputs.end());
    result.outputs.push_back(std::move(outputs));
  }
  for (const TensorId id : needed)
    for (const TensorId source : sources.of(id))
      result.largest[at(id)] = std::max(result.largest[at(id)], largest[source]);
  return result;
}

Accuracy accuracy(const Runs &got, const Runs &reference) {
  Accuracy result;
  double apart = 0;
  double all = 0;
  for (std::size_t r = 0; r < reference.size(); ++r) {
    const HostTensor &ours = got[r][0];
    const HostTensor &theirs = reference[r][0];
    const std::int64_t count = program::elems(theirs.shape);
    const std::int64_t rows = theirs.shape.empty() ? 1 : theirs.shape[0];
    for (std::int64_t row = 0; row < rows && count > 0; ++row) {
      std::int64_t most = row * (count / rows);
      std::int64_t most_of_ours = most;
      for (std::int64_t i = most; i < (row + 1) * (count / rows); ++i) {
        const double a = get(ours, i), b = get(theirs, i);
        apart += (a - b) * (a - b);
        all += b * b;
        most = b > get(theirs, most) ? i : most;
        most_of_ours = a > get(ours, most_of_ours) ? i : most_of_ours;
      }
      ++result.rows;
      result.equal_rows += most == most_of_ours ? 1 : 0;
    }
  }
  result.relative_error = all > 0 ? std::sqrt(apart / all) : 0;
  return result;
}

std::string to_text(const Accuracy &accuracy) {
  return fmt::format("accuracy relative error {:.2g} against f32 on the calibration inputs; the "
                     "largest result is the same in {} of {}\n",
                     accuracy.relative_error, accuracy.equal_rows, accuracy.rows);
}

} // namespace tilefuse::model
