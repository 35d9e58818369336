// SPDX-License-Identifier: Apache-2.0
#include "run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/index.h"
#include "data/npy.h"
#include "labels.h"
#include "open_model.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

// Appends `more` to `whole` along the first dimension.
void append(HostTensor &whole, const HostTensor &more) {
  whole.shape[0] += more.shape.empty() ? 1 : more.shape[0];
  whole.data.insert(whole.data.end(), more.data.begin(), more.data.end());
}

void drop_last(HostTensor &tensor, std::int64_t places) {
  const std::size_t row = tensor.data.size() / static_cast<std::size_t>(tensor.shape[0]);
  tensor.shape[0] -= places;
  tensor.data.resize(row * static_cast<std::size_t>(tensor.shape[0]));
}

bool is_npy(const std::string &where) { return std::filesystem::path(where).extension() == ".npy"; }

} // namespace

std::vector<HostTensor> join_runs(std::vector<std::vector<HostTensor>> runs, std::int64_t per_run,
                                  std::int64_t drop) {
  std::vector<HostTensor> joined = std::move(runs.front());
  for (std::size_t o = 0; o < joined.size(); ++o) {
    HostTensor &whole = joined[o];
    const bool is_batch = !whole.shape.empty() && whole.shape[0] == per_run;
    if (runs.size() > 1 && whole.shape.empty())
      whole.shape = {1};
    for (std::size_t r = 1; r < runs.size(); ++r)
      append(whole, runs[r][o]);
    if (drop > 0 && is_batch)
      drop_last(whole, drop);
  }
  return joined;
}

void check_labels(const std::vector<std::string> &labels, const std::string &file,
                  const HostTensor &output) {
  const std::int64_t classes = class_count(output.shape);
  if (classes == 0)
    throw Error(ErrorCode::Shape,
                fmt::format("labels were given, but output '{}' {} is not one value per class",
                            output.name, type_text(output)),
                file);
  if (static_cast<std::int64_t>(labels.size()) != classes)
    throw Error(ErrorCode::Shape,
                fmt::format("there are {} labels, output '{}' has {} classes", labels.size(),
                            output.name, classes),
                file);
}

std::string top_lines(const HostTensor &output, std::int64_t n, int count,
                      const std::vector<std::string> &labels) {
  const std::int64_t classes = class_count(output.shape);
  std::string text;
  int place = 0;
  for (const Ranked &ranked : top(output, n * classes, classes, count)) {
    const std::string label =
        labels.empty() ? fmt::format("class {}", ranked.index) : labels[at(ranked.index)];
    text += fmt::format("  {:>2}  {:<10.6g}  {}\n", ++place, ranked.value, label);
  }
  return text;
}

std::string summary_line(const HostTensor &output) {
  const std::int64_t count = program::elems(output.shape);
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = program::get(output, i);
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  if (count == 0)
    return fmt::format("output   '{}' {}  empty\n", output.name, type_text(output));
  return fmt::format("output   '{}' {}  min {:.6g}  max {:.6g}  mean {:.6g}\n", output.name,
                     type_text(output), least, most, sum / static_cast<double>(count));
}

void check_output_place(std::size_t outputs, const std::string &where) {
  if (is_npy(where) && outputs != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("--output is one file, the model has {} outputs", outputs), where,
                {"name a folder: each output becomes output_K.npy in it"});
}

std::vector<OutputFile> output_files(const std::vector<HostTensor> &outputs,
                                     const std::string &where) {
  check_output_place(outputs.size(), where);
  if (is_npy(where))
    return {{where, data::to_npy(outputs[0])}};
  std::vector<OutputFile> files;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    files.push_back({(std::filesystem::path(where) / fmt::format("output_{}.npy", k)).string(),
                     data::to_npy(outputs[k])});
  return files;
}

} // namespace tilefuse::tool
