// SPDX-License-Identifier: Apache-2.0
#include "run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/index.h"
#include "data/encode_png.h"
#include "data/npy.h"
#include "labels.h"
#include "open_model.h"
#include "output_picture.h"
#include "report/text_width.h"

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

// A name of a file that is none of the others.
std::string file_name(const std::string &output, std::size_t k, std::set<std::string> &taken) {
  constexpr std::size_t kLongest = 100;
  std::string name = output.substr(0, kLongest);
  for (char &c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.')
      c = '_';
  if (name.find_first_not_of("_.") == std::string::npos)
    name = fmt::format("output_{}", k);
  if (name.front() == '.')
    name.front() = '_';
  return free_name(name, k, taken) + ".npy";
}

} // namespace

Place output_place(const std::string &where) {
  const std::filesystem::path path(where);
  const std::string ending = path.extension().string();
  std::error_code failure;
  if (ending == ".npy")
    return Place::Array;
  if (std::filesystem::is_directory(path, failure) || where.ends_with('/') ||
      (ending.empty() && where != "-"))
    return Place::Folder;
  if (ending == ".png")
    return Place::Picture;
  throw Error(ErrorCode::Io, "outputs are written as FILE.npy, FILE.png or into a folder", where,
              {"a folder whose name has a dot ends in /"});
}

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

std::string top_lines(const HostTensor &output, std::int64_t n, int count,
                      const std::vector<std::string> &labels, std::size_t width) {
  const std::int64_t classes = class_count(output.shape);
  std::string text;
  int place = 0;
  for (const Ranked &ranked : top(output, n * classes, classes, count)) {
    const std::string line = fmt::format("  {:>2}  {:<10.6g}  {}", ++place, ranked.value,
                                         label_of(ranked.index, labels));
    text += (width == 0 ? line : report::cut(line, width)) + "\n";
  }
  return text;
}

report::Table class_table(const HostTensor &output, const std::vector<std::string> &places,
                          int count, const std::vector<std::string> &labels) {
  report::Table table{.columns = {{"input", "input"},
                                  {"rank", "rank", true},
                                  {"class", "class", true},
                                  {"value", "value", true},
                                  {"label", "label"}},
                      .rows = {},
                      .sums = {}};
  const std::int64_t classes = class_count(output.shape);
  for (std::size_t n = 0; n < places.size(); ++n) {
    std::int64_t place = 0;
    for (const Ranked &ranked : top(output, static_cast<std::int64_t>(n) * classes, classes, count))
      table.rows.push_back({report::cell(places[n]),
                            report::cell(++place),
                            report::cell(ranked.index),
                            {fmt::format("{:.9g}", ranked.value), ranked.value},
                            report::cell(label_of(ranked.index, labels))});
  }
  return table;
}

report::Table output_table(const std::vector<HostTensor> &outputs) {
  report::Table table{.columns = {{"output", "name", false, report::Column::Fit::Cut},
                                  {"type", "type"},
                                  {"min", "min", true},
                                  {"max", "max", true},
                                  {"mean", "mean", true}},
                      .rows = {},
                      .sums = {}};
  const auto number = [](double value) {
    return report::Cell{fmt::format("{:.6g}", value), value};
  };
  for (const HostTensor &output : outputs) {
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
      table.rows.push_back(
          {report::cell(output.name), report::cell(type_text(output)), {"empty", {}}, {}, {}});
    else
      table.rows.push_back({report::cell(output.name), report::cell(type_text(output)),
                            number(least), number(most), number(sum / static_cast<double>(count))});
  }
  return table;
}

void check_output_place(std::size_t outputs, const std::string &where) {
  if (output_place(where) != Place::Folder && outputs != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("--output is one file, the model has {} outputs", outputs), where,
                {"name a folder: each output becomes NAME.npy in it"});
}

std::vector<OutputFile> output_files(const std::vector<HostTensor> &outputs,
                                     const std::string &where) {
  check_output_place(outputs.size(), where);
  const Place place = output_place(where);
  if (place == Place::Array)
    return {{where, data::to_npy(outputs[0])}};
  if (place == Place::Picture)
    return {{where, data::encode_png(output_picture(outputs[0]))}};
  std::vector<OutputFile> files;
  std::set<std::string> taken;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    files.push_back({(std::filesystem::path(where) / file_name(outputs[k].name, k, taken)).string(),
                     data::to_npy(outputs[k])});
  return files;
}

} // namespace tilefuse::tool
