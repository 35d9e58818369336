// SPDX-License-Identifier: Apache-2.0
#include "api/options.h"

#include <charconv>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "api/sizes.h"
#include "base/error.h"
#include "base/scanner.h"
#include "model/passes.h"

namespace tilefuse::api {
namespace {

[[noreturn]] void fail(const std::string &key, const std::string &value, std::string_view need) {
  throw Error(ErrorCode::Syntax,
              fmt::format("option {} is {}, need {}", key, tilefuse::quoted(value), need));
}

template <class Number>
Number number(const std::string &key, const std::string &value, Number least, Number most) {
  Number result{};
  const char *end = value.data() + value.size();
  const auto [stop, failure] = std::from_chars(value.data(), end, result);
  if (failure != std::errc() || stop != end || !(result >= least && result <= most))
    fail(key, value, fmt::format("a number from {} to {}", least, most));
  return result;
}

using Text = const std::string &;
using SetEngine = void (*)(EngineOptions &, Text key, Text value);
using SetCompile = void (*)(Options &, Text key, Text value);

struct Row {
  OptionRow shown;
  std::variant<SetEngine, SetCompile> set;
};

tile::Attribute attribute(const std::string &key, const std::string &value) {
  if (value.find_first_of(".e") != std::string::npos)
    return number(key, value, -1e300, 1e300);
  return number(key, value, -(std::int64_t{1} << 62), std::int64_t{1} << 62);
}

constexpr OptionRow kTraining[] = {
    {"folder", "training", "Of a whole run: where it is kept"},
    {"resume", "training", "Of a whole run: true goes on with the folder's"},
    {"force", "training", "Of a run that goes on: true although the recipe differs"},
    {"fuse", "training", "As for compiling; every key of a recipe is an option of training too"},
};

// What stands behind the dot of "dim.height", with the value: "height=320".
std::string named(const std::string &key, const std::string &value) {
  return key.substr(key.find('.') + 1) + "=" + value;
}

const Row kRows[] = {
    {{"threads", "device", "Of the cpu; 0: one per core"},
     [](EngineOptions &o, Text key, Text value) { o.threads = number(key, value, 0, 1024); }},
    {{"cache", "device", "File of compiled kernels; empty: none"},
     [](EngineOptions &o, Text, Text value) {
       o.cache = value;
       o.no_cache = value.empty();
     }},
    {{"records", "device", "File of tuning records; empty: none"},
     [](EngineOptions &o, Text, Text value) {
       o.records = value;
       o.no_records = value.empty();
     }},
    {{"precision", "compile", "f16, bf16, tf32 or int8; empty: as the model says"},
     [](Options &o, Text, Text value) { o.precision = value; }},
    {{"gradient", "compile",
      "Differentiate: * by every floating input, weights, or names joined by commas"},
     [](Options &o, Text, Text value) { o.gradient = value; }},
    {{"fuse", "compile", "What joins in one kernel: none, pointwise or all"},
     [](Options &o, Text key, Text value) {
       const auto level = poly::parse_fuse_level(value);
       if (!level)
         fail(key, value, "none, pointwise or all");
       o.fusion.level = *level;
     }},
    {{"algorithm", "compile", "Force one where it fits"},
     [](Options &o, Text, Text value) { o.algorithm = value; }},
    {{"split", "compile", "Reductions in parts: auto, none or parts of indices"},
     [](Options &o, Text, Text value) { o.split = value; }},
    {{"activations", "compile", "How they lie: auto, nhwc, nchw, blocked or padded"},
     [](Options &o, Text, Text value) { o.layout = value; }},
    {{"clip", "compile", "Ranges of int8: none, entropy, or percentile"},
     [](Options &o, Text key, Text value) {
       const auto by = model::parse_clipping(value);
       if (!by)
         fail(key, value, "none, entropy or percentile");
       o.clip.by = *by;
     }},
    {{"percentile", "compile", "Of magnitudes, that ranges of int8 hold"},
     [](Options &o, Text key, Text value) {
       o.clip = {model::Clipping::Percentile, number(key, value, 50.0, 100.0)};
     }},
    {{"keep_f32", "compile",
      "A product that int8 leaves in f32, by its node's name; once for each"},
     [](Options &o, Text, Text value) { o.keep_f32.insert(value); }},
    {{"kept", "compile", "Shapes that stay compiled, of a model whose sizes vary"},
     [](Options &o, Text key, Text value) {
       o.kept = number(key, value, std::int64_t{1}, std::int64_t{4096});
     }},
    {{"batch", "compile", "Binds open first dimensions"},
     [](Options &o, Text key, Text value) {
       o.sizes.batch = number(key, value, std::int64_t{1}, std::int64_t{1} << 32);
     }},
    {{"dim.", "compile", "dim.NAME binds a dimension by its name"},
     [](Options &o, Text key, Text value) { add_dim(o.sizes, named(key, value)); }},
    {{"shape.", "compile", "shape.INPUT binds an input's sizes, 1,3,320,320"},
     [](Options &o, Text key, Text value) { add_shape(o.sizes, named(key, value)); }},
    {{"value.", "compile", "value.INPUT gives an integer input its values, 640,640"},
     [](Options &o, Text key, Text value) { add_values(o.sizes, named(key, value)); }},
    {{"type.", "compile", "type.INPUT is the type of a Tile function's input: f32"},
     [](Options &o, Text key, Text value) {
       const std::optional<DType> type = parse_dtype(value);
       if (!type)
         fail(key, value, "a type such as f32, f16 or i32");
       o.types[key.substr(key.find('.') + 1)] = *type;
     }},
    {{"attr.", "compile", "attr.NAME is a Tile function's attribute"},
     [](Options &o, Text key, Text value) { o.attributes[key.substr(5)] = attribute(key, value); }},
    {{"dump", "compile", "Folder for the text of every level of every kernel"},
     [](Options &o, Text, Text value) {
       o.dump = value;
       o.passes->dump_to(value);
     }},
    {{"disable_pass", "compile", "Leave a pass over the program out"},
     [](Options &o, Text, Text value) { model::disable_pass(*o.passes, value); }},
};

bool fits(const OptionRow &row, const std::string &key) {
  return row.key.ends_with('.') ? key.starts_with(row.key) && key.size() > row.key.size()
                                : key == row.key;
}

template <class Setter, class To>
void set_in(To &options, std::string_view of, const std::string &key, const std::string &value) {
  std::string known;
  for (const Row &row : kRows) {
    if (row.shown.of != of)
      continue;
    if (fits(row.shown, key))
      return std::get<Setter>(row.set)(options, key, value);
    known += fmt::format("{}{}{}", known.empty() ? "" : ", ", row.shown.key,
                         row.shown.key.ends_with('.') ? "NAME" : "");
  }
  throw Error(ErrorCode::Unsupported, fmt::format("there is no option {}", tilefuse::quoted(key)),
              {}, {fmt::format("options here are {}", known)});
}

} // namespace

std::span<const OptionRow> option_rows() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> shown;
    for (const Row &row : kRows)
      shown.push_back(row.shown);
    shown.insert(shown.end(), std::begin(kTraining), std::end(kTraining));
    return shown;
  }();
  return rows;
}

void set(EngineOptions &options, const std::string &key, const std::string &value) {
  set_in<SetEngine>(options, "device", key, value);
}

void set(Options &options, const std::string &key, const std::string &value) {
  set_in<SetCompile>(options, "compile", key, value);
}

model::SessionOptions session_options(const Options &options,
                                      const model::AppliedPrecision &applied,
                                      runtime::RecordStore *records,
                                      std::function<void(const std::string &)> warn) {
  return {.algorithm = options.algorithm,
          .split = options.split,
          .layout = options.layout,
          .fusion = options.fusion,
          .records = records,
          .is_simplified = applied.is_simplified,
          .passes = options.passes.get(),
          .dump_directory = options.dump,
          .warn = std::move(warn)};
}

} // namespace tilefuse::api
