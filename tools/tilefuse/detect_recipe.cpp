// SPDX-License-Identifier: Apache-2.0
#include "detect_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "files.h"

namespace tilefuse::tool {
namespace {

constexpr std::int64_t kTomlLimit = 1 << 20;
constexpr std::int64_t kMostChannels = 1 << 20;
constexpr std::int64_t kLongestStride = 1 << 16;
constexpr std::int64_t kMostBoxes = 10000;
constexpr std::int64_t kMostPointValues = 16;

// A key's value and where it stands.
struct Entry {
  const toml::node &node;
  std::string_view key;
  const std::string &file;

  [[noreturn]] void wrong(std::string_view need) const {
    throw Error(ErrorCode::Syntax, fmt::format("detect.{} must be {}", key, need),
                fmt::format("{}:{}", file, node.source().begin.line));
  }
};

std::optional<double> number_of(const toml::node &node) { return node.value<double>(); }

double number(const Entry &entry, double least, double most) {
  const std::optional<double> value = number_of(entry.node);
  if (!value || !(*value >= least && *value <= most))
    entry.wrong(fmt::format("a number from {} to {}", least, most));
  return *value;
}

std::string text(const Entry &entry, std::string_view need) {
  const auto *value = entry.node.as_string();
  if (value == nullptr || value->get().empty())
    entry.wrong(need);
  return value->get();
}

// One of two words; true for the second.
bool second_of(const Entry &entry, std::string_view first, std::string_view second) {
  const std::string need = fmt::format("\"{}\" or \"{}\"", first, second);
  const std::string value = text(entry, need);
  if (value != first && value != second)
    entry.wrong(need);
  return value == second;
}

bool parse_index(std::string_view digits, std::int64_t &value) {
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return failure == std::errc() && end == digits.data() + digits.size() && value >= 0 &&
         value <= kMostChannels;
}

// "output 5..85", or "output".
Channels channels(const Entry &entry) {
  constexpr std::string_view kNeed = "an output and its channels, \"output 0..4\"";
  const std::string value = text(entry, kNeed);
  const std::size_t blank = value.rfind(' ');
  const std::size_t dots = value.find("..", blank == std::string::npos ? 0 : blank);
  if (blank == std::string::npos || dots == std::string::npos)
    return {value};
  Channels result{value.substr(0, blank)};
  const std::string_view range = std::string_view(value).substr(blank + 1);
  const std::size_t split = dots - blank - 1;
  if (!parse_index(range.substr(0, split), result.first) ||
      !parse_index(range.substr(split + 2), result.end) || result.first >= result.end ||
      result.output.empty())
    entry.wrong(kNeed);
  return result;
}

std::vector<std::int64_t> strides(const Entry &entry) {
  std::vector<std::int64_t> result;
  const toml::array *array = entry.node.as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const std::int64_t stride = array->get(i)->value<std::int64_t>().value_or(0);
    if (stride < 1 || stride > kLongestStride)
      entry.wrong("pixels between positions, [8, 16, 32]");
    result.push_back(stride);
  }
  if (result.empty())
    entry.wrong("pixels between positions, [8, 16, 32]");
  return result;
}

// A side of a square, or [width, height].
std::array<double, 2> anchor(const Entry &entry, const toml::node &node) {
  std::array<double, 2> sides = {0, 0};
  const toml::array *pair = node.as_array();
  for (std::size_t i = 0; i < 2; ++i) {
    const toml::node &side = pair != nullptr && pair->size() == 2 ? *pair->get(i) : node;
    sides[i] = number_of(side).value_or(0);
  }
  if (!(sides[0] > 0 && sides[1] > 0 && sides[0] < kLongestStride && sides[1] < kLongestStride))
    entry.wrong("a list of pixels or [width, height] per stride, [[10, 16, 24], [32, 48]]");
  return sides;
}

std::vector<std::vector<std::array<double, 2>>> anchors(const Entry &entry) {
  std::vector<std::vector<std::array<double, 2>>> result;
  const toml::array *grids = entry.node.as_array();
  for (std::size_t g = 0; grids != nullptr && g < grids->size(); ++g) {
    const toml::array *sizes = grids->get(g)->as_array();
    result.emplace_back();
    for (std::size_t i = 0; sizes != nullptr && i < sizes->size(); ++i)
      result.back().push_back(anchor(entry, *sizes->get(i)));
    if (result.back().empty())
      entry.wrong("a list of pixels or [width, height] per stride, [[10, 16, 24], [32, 48]]");
  }
  return result;
}

std::array<double, 2> variance(const Entry &entry) {
  const toml::array *pair = entry.node.as_array();
  std::array<double, 2> result = {0, 0};
  for (std::size_t i = 0; i < 2 && pair != nullptr && pair->size() == 2; ++i)
    result[i] = number_of(*pair->get(i)).value_or(0);
  if (!(result[0] > 0 && result[1] > 0))
    entry.wrong("two numbers above 0, [0.1, 0.2]");
  return result;
}

struct Key {
  std::string_view name;
  void (*set)(DetectRecipe &recipe, const Entry &entry);
};
constexpr Key kKeys[] = {
    {"boxes", [](DetectRecipe &r, const Entry &e) { r.boxes = channels(e); }},
    {"scores", [](DetectRecipe &r, const Entry &e) { r.scores = channels(e); }},
    {"object", [](DetectRecipe &r, const Entry &e) { r.object = channels(e); }},
    {"points", [](DetectRecipe &r, const Entry &e) { r.points = channels(e); }},
    {"point_values",
     [](DetectRecipe &r, const Entry &e) {
       r.point_values = static_cast<std::int64_t>(number(e, 2, kMostPointValues));
     }},
    {"coding", [](DetectRecipe &r, const Entry &e) { r.coding = text(e, "the name of a coding"); }},
    {"unit",
     [](DetectRecipe &r, const Entry &e) { r.is_fraction = second_of(e, "pixel", "fraction"); }},
    {"channels",
     [](DetectRecipe &r, const Entry &e) { r.is_channels_first = second_of(e, "last", "first"); }},
    {"activation",
     [](DetectRecipe &r, const Entry &e) { r.is_logits = second_of(e, "none", "sigmoid"); }},
    {"strides", [](DetectRecipe &r, const Entry &e) { r.strides = strides(e); }},
    {"anchors", [](DetectRecipe &r, const Entry &e) { r.anchors = anchors(e); }},
    {"variance", [](DetectRecipe &r, const Entry &e) { r.variance = variance(e); }},
    {"threshold", [](DetectRecipe &r, const Entry &e) { r.threshold = number(e, 0, 1); }},
    {"overlap", [](DetectRecipe &r, const Entry &e) { r.overlap = number(e, 0, 1); }},
    {"most", [](DetectRecipe &r, const Entry &e) {
       r.most = static_cast<std::int64_t>(number(e, 1, kMostBoxes));
     }}};

void set(DetectRecipe &recipe, const Entry &entry) {
  const auto *row = std::find_if(std::begin(kKeys), std::end(kKeys),
                                 [&](const Key &key) { return key.name == entry.key; });
  if (row != std::end(kKeys))
    return row->set(recipe, entry);
  std::vector<std::string> names;
  for (const Key &key : kKeys)
    names.emplace_back(key.name);
  throw Error(ErrorCode::Syntax,
              fmt::format("'{}' is not a key of [detect]{}", entry.key,
                          did_you_mean(std::string(entry.key), names)),
              fmt::format("{}:{}", entry.file, entry.node.source().begin.line),
              {fmt::format("keys are {}", fmt::join(names, ", "))});
}

} // namespace

std::optional<DetectRecipe> read_detect(const std::string &toml_file) {
  const toml::table whole = parse_toml(read_file(toml_file, kTomlLimit), toml_file);
  if (!whole.contains("detect"))
    return {};
  const toml::table *table = whole["detect"].as_table();
  if (table == nullptr)
    throw Error(ErrorCode::Syntax, "'detect' must be a table, [detect]", toml_file);
  DetectRecipe recipe;
  recipe.file = toml_file;
  for (const auto &[key, node] : *table)
    set(recipe, {node, key.str(), toml_file});
  if (recipe.points && !recipe.boxes && !recipe.scores)
    return recipe;
  for (const auto &[name, given] :
       {std::pair{"boxes", &recipe.boxes}, std::pair{"scores", &recipe.scores}})
    if (!*given)
      throw Error(ErrorCode::Syntax,
                  fmt::format("[detect] has no {}: need an output and its channels", name),
                  toml_file);
  return recipe;
}

} // namespace tilefuse::tool
