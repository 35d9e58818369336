// SPDX-License-Identifier: Apache-2.0
#include "target/device_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/scanner.h"
#include "target/core_ops.h"
#include "target/nvidia.h"

namespace tilefuse {
namespace {

constexpr std::string_view kRates = "rates";
constexpr std::string_view kMeasuredOn = "measured_on";

std::string position(const std::string &file, const toml::source_region &source) {
  return fmt::format("{}:{}:{}", file, source.begin.line, source.begin.column);
}

std::string feature_names() {
  std::string list;
  for (int i = 0; i < kFeatures; ++i)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", to_string(static_cast<Feature>(i)));
  return list;
}

std::vector<std::string_view> dot_names() {
  std::vector<std::string_view> names;
  for (const DotOp &op : dot_ops())
    names.push_back(op.name);
  return names;
}

// Reads one field's value from a TOML node.
struct Assign {
  Target &target;
  std::string_view key;
  const toml::node &node;
  const std::string &file;

  [[noreturn]] void fail(std::string_view need) const {
    throw Error(ErrorCode::Io, fmt::format("key '{}' needs {}", key, need),
                position(file, node.source()));
  }
  void operator()(std::string Target::*m) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty())
      fail("a string that is not empty");
    target.*m = *value;
  }
  void operator()(LaneKind Target::*m) const {
    const auto kind = parse_lane_kind(node.value_exact<std::string_view>().value_or(""));
    if (!kind)
      fail("\"vector\" or \"workitem\"");
    target.*m = *kind;
  }
  void operator()(bool Target::*m) const {
    const auto value = node.value_exact<bool>();
    if (!value)
      fail("true or false");
    target.*m = *value;
  }
  void operator()(int Target::*m) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || !std::in_range<int>(*value))
      fail("an integer from 1 to 2147483647");
    target.*m = static_cast<int>(*value);
  }
  void operator()(std::int64_t Target::*m) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0)
      fail("an integer of at least 0");
    target.*m = *value;
  }
  double positive() const {
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value) || *value <= 0)
      fail("a number above 0");
    return *value;
  }
  void operator()(double Target::*m) const { target.*m = positive(); }
  void operator()(Features Target::*m) const {
    const toml::array *names = node.as_array();
    if (names == nullptr)
      fail("a list of features");
    for (const toml::node &name : *names) {
      const auto feature = parse_feature(name.value_exact<std::string_view>().value_or(""));
      if (!feature)
        fail("features among " + feature_names());
      (target.*m).insert(*feature);
    }
  }
  // A table of rates by name; kept in the order of the instructions' own table.
  void operator()(std::vector<DotRate> Target::*m) const {
    const toml::table *rates = node.as_table();
    if (rates == nullptr)
      fail("a table of dot products and their rates");
    for (const auto &[name, rate] : *rates)
      if (find_dot_op(name.str()) == nullptr)
        fail(fmt::format("dot products among {}", fmt::join(dot_names(), ", ")));
    for (const DotOp &op : dot_ops())
      if (const toml::node *rate = rates->get(op.name))
        (target.*m).push_back({&op, Assign{target, key, *rate, file}.positive()});
  }
};

struct Wrong {
  Feature feature;
  std::string_view need;
};

// A feature that what else the target says contradicts.
std::optional<Wrong> wrong_feature(const Target &target) {
  const bool is_cuda = target.backend == "cuda";
  const bool has_warps = target.lanes == LaneKind::WorkItem && target.warp == kCoreLanes;
  const std::array<std::tuple<Feature, bool, std::string_view>, 6> rules = {{
      {Feature::MatrixUnits, is_cuda && has_warps,
       "the backend \"cuda\", lanes \"workitem\" and a warp of 32"},
      {Feature::WarpgroupMatrix,
       has(target, Feature::MatrixUnits) && target.isa.starts_with("sm_90a"),
       "the isa \"sm_90a\" and matrix_units"},
      {Feature::LaunchQueue, is_cuda, "the backend \"cuda\""},
      {Feature::EarlyLaunch, is_cuda, "the backend \"cuda\""},
      {Feature::PrefetchHints, target.backend == "llvm", "the backend \"llvm\""},
      {Feature::EitherLanes, target.backend != "llvm", "the backend \"opencl\" or \"cuda\""},
  }};
  for (const auto &[feature, fits, need] : rules)
    if (has(target, feature) && !fits)
      return Wrong{feature, need};
  const Features foreign =
      target.features.without(of_generation(target.features, nvidia_generation(target)));
  for (int i = 0; i < kFeatures; ++i)
    if (foreign.contains(static_cast<Feature>(i)))
      return Wrong{static_cast<Feature>(i), "an isa that has it"};
  return std::nullopt;
}

// The row that a row takes from what it does not say.
std::string_view family(const Target &target) {
  constexpr int kHopper = 90;
  const int generation = nvidia_generation(target);
  if (target.backend == "llvm")
    return "cpu_avx2";
  if (target.backend == "cuda")
    return generation >= kHopper ? "cuda_sm90" : "cuda_sm80";
  if (target.lanes == LaneKind::Vector)
    return "opencl_cpu";
  if (generation > 0)
    return generation >= kHopper ? "opencl_nvidia_sm90" : "opencl_nvidia";
  return "opencl_gpu";
}

// A row, and what its file says of it.
struct Row {
  Target target;
  std::string file;
  toml::table table;
  std::string at(std::string_view key) const {
    const toml::node *node = table.get(key);
    return node == nullptr ? file + ":1:1" : position(file, node->source());
  }
};

template <class Field> std::string known_keys(std::span<const Field> fields) {
  std::string list;
  for (const Field &field : fields)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", field.key);
  return list;
}

// Throws for a key that is not among the fields.
template <class Field>
const Field &known_field(std::span<const Field> fields, const toml::key &key,
                         const std::string &file) {
  for (const Field &field : fields)
    if (field.key == key.str())
      return field;
  throw Error(ErrorCode::Io, fmt::format("unknown key '{}'", key.str()),
              position(file, key.source()), {"known keys: " + known_keys(fields)});
}

toml::table parse_toml(std::string_view text, const std::string &file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error &error) {
    throw Error(ErrorCode::Io, std::string(error.description()), position(file, error.source()));
  }
}

Row read_row(std::string_view text, const std::string &file) {
  Row row{{}, file, parse_toml(text, file)};
  for (const auto &[key, node] : row.table) {
    if ((key.str() == kRates && node.is_table()) || key.str() == kMeasuredOn)
      continue;
    const TargetField &field = known_field(target_fields(), key, file);
    std::visit(Assign{row.target, field.key, node, file}, field.member);
  }
  for (const std::string_view key : {"name", "backend"})
    if (!row.table.contains(key))
      throw Error(ErrorCode::Io, fmt::format("key '{}' is missing", key), file + ":1:1");
  const std::string &backend = row.target.backend;
  if (backend != "llvm" && backend != "opencl" && backend != "cuda")
    throw Error(ErrorCode::Io,
                fmt::format("backend is {}, need \"llvm\", \"opencl\" or \"cuda\"",
                            tilefuse::quoted(backend)),
                row.at("backend"));
  if (const std::optional<Wrong> wrong = wrong_feature(row.target))
    throw Error(ErrorCode::Io,
                fmt::format("feature '{}' needs {}", to_string(wrong->feature), wrong->need),
                row.at("features"));
  return row;
}

// The rates that the row states itself; how many they are.
std::size_t read_rates(const Row &row, Rates &rates) {
  const toml::table *table = row.table[kRates].as_table();
  if (table == nullptr)
    return 0;
  Target unused;
  for (const auto &[key, node] : *table) {
    const RateField &field = known_field(rate_fields(), key, row.file);
    rates.*field.member = Assign{unused, field.key, node, row.file}.positive();
  }
  return table->size();
}

// Rows of one directory, which complete each other.
class Rows {
public:
  explicit Rows(std::vector<Row> rows) : rows_(std::move(rows)) {}

  std::vector<Target> complete() {
    std::vector<Target> targets;
    for (Row &row : rows_)
      if (!row.table.contains("features"))
        row.target.features = features_of_family(row);
    for (const Row &row : rows_) {
      Target target = row.target;
      std::tie(target.rates_like, target.rates) = rates_of(row, rows_.size());
      targets.push_back(std::move(target));
    }
    return targets;
  }

private:
  const Row *find(std::string_view name) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row &row) { return row.target.name == name; });
    return found == rows_.end() ? nullptr : &*found;
  }

  Features features_of_family(const Row &row) const {
    const Row *from = find(family(row.target));
    if (from == nullptr)
      return {};
    Target target = row.target;
    target.features = of_generation(from->target.features, nvidia_generation(target));
    while (const std::optional<Wrong> wrong = wrong_feature(target))
      target.features = target.features.without({wrong->feature});
    return target.features;
  }

  // The row that they were stated for, and the rates; through at most so many other rows.
  std::pair<std::string, Rates> rates_of(const Row &row, std::size_t rows) const {
    Rates own;
    if (read_rates(row, own) == rate_fields().size())
      return {row.target.name, own};
    const bool says_like = !row.target.rates_like.empty();
    if (!says_like && row.target.lanes == LaneKind::Vector)
      return {"", own};
    const std::string like = says_like ? row.target.rates_like : std::string(family(row.target));
    const Row *from = find(like);
    if (from == nullptr || from == &row || rows == 0)
      throw Error(
          ErrorCode::Io, fmt::format("no row '{}' states the rates of '{}'", like, row.target.name),
          row.at("rates_like"),
          {"a row of work-items states all of [rates], or names a row that does in rates_like"});
    auto [name, rates] = rates_of(*from, rows - 1);
    read_rates(row, rates);
    return {std::move(name), rates};
  }

  std::vector<Row> rows_;
};

std::vector<std::string> toml_files(const std::string &directory) {
  std::vector<std::string> files;
  std::error_code failure;
  std::filesystem::directory_iterator at(directory, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    if (at->path().extension() == ".toml")
      files.push_back(at->path().string());
  }
  if (failure)
    throw Error(ErrorCode::Io, fmt::format("cannot read the directory: {}", failure.message()),
                directory);
  std::sort(files.begin(), files.end());
  return files;
}

void add_row(std::vector<Row> &rows, Row row) {
  for (const Row &other : rows)
    if (other.target.name == row.target.name)
      throw Error(ErrorCode::Io, fmt::format("a second target is named '{}'", row.target.name),
                  row.file);
  rows.push_back(std::move(row));
}

std::vector<Row> builtin_rows() {
  std::vector<Row> rows;
  for (const EmbeddedFile &file : embedded_files("devices"))
    add_row(rows, read_row(file.text, std::string(file.path)));
  return rows;
}

std::string measured_device(const Row &row) {
  const auto device = row.table[kMeasuredOn].value<std::string>();
  if (!device || device->empty())
    throw Error(ErrorCode::Io, "key 'measured_on' needs the name of a device", row.at(kMeasuredOn),
                {"tilefuse doctor --calibrate writes such a row"});
  return *device;
}

std::vector<Target> complete(std::vector<Row> rows) {
  std::vector<Target> targets = Rows(std::move(rows)).complete();
  std::sort(targets.begin(), targets.end(),
            [](const Target &a, const Target &b) { return a.name < b.name; });
  return targets;
}

std::string read_text(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in)
    throw Error(ErrorCode::Io, "the file cannot be read", file);
  return text;
}

} // namespace

std::vector<Target> read_targets(const std::string &directory) {
  std::vector<Row> rows;
  for (const std::string &file : toml_files(directory))
    add_row(rows, read_row(read_text(file), file));
  return complete(std::move(rows));
}

std::vector<Target> builtin_targets() { return complete(builtin_rows()); }

std::vector<MeasuredRow> read_measured_rows(const std::string &directory) {
  std::error_code failure;
  if (!std::filesystem::is_directory(directory, failure))
    return {};
  std::vector<Row> rows = builtin_rows();
  std::vector<MeasuredRow> measured;
  for (const std::string &file : toml_files(directory)) {
    Row row = read_row(read_text(file), file);
    measured.push_back({measured_device(row), row.target});
    add_row(rows, std::move(row));
  }
  for (const Target &target : complete(std::move(rows)))
    for (MeasuredRow &row : measured)
      if (row.target.name == target.name)
        row.target = target;
  return measured;
}

} // namespace tilefuse
