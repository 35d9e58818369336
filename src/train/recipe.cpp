// SPDX-License-Identifier: Apache-2.0
#include "train/recipe.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_file.h"
#include "base/toml.h"
#include "train/recipe_keys.h"

namespace tilefuse::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLimit = 1 << 20; // bytes of a recipe

[[noreturn]] void fail(const std::string &message, const std::string &where) {
  throw Error(ErrorCode::Syntax, message, where);
}

[[noreturn]] void unknown(std::string_view name, const std::string &where) {
  fail(fmt::format("'{}' is not a key of recipes; the nearest is '{}'", name, nearest_name(name)),
       where);
}

// ---- TOML values into members; false when the value is of another kind

bool assign(const toml::node &node, bool &to) {
  const auto *value = node.as_boolean();
  return value != nullptr && (to = value->get(), true);
}

bool assign(const toml::node &node, double &to) {
  const auto *real = node.as_floating_point();
  const auto *whole = node.as_integer();
  if (real != nullptr)
    to = real->get();
  if (whole != nullptr)
    to = static_cast<double>(whole->get());
  return real != nullptr || whole != nullptr;
}

bool assign(const toml::node &node, std::string &to) {
  const auto *text = node.as_string();
  return text != nullptr && (to = text->get(), true);
}

template <class Whole> bool assign(const toml::node &node, Whole &to) {
  const auto *whole = node.as_integer();
  if (whole == nullptr || !std::in_range<Whole>(whole->get()))
    return false;
  to = static_cast<Whole>(whole->get());
  return true;
}

// One value stands for a list of one.
template <class Value> bool assign(const toml::node &node, std::vector<Value> &to) {
  std::vector<Value> list;
  const toml::array *array = node.as_array();
  const std::size_t count = array == nullptr ? 1 : array->size();
  for (std::size_t i = 0; i < count; ++i)
    if (!assign(array == nullptr ? node : *array->get(i), list.emplace_back()))
      return false;
  to = std::move(list);
  return true;
}

// A path, absolute; of "KIND:FILE,FILE" (data/open.h) each file.
std::string with_folder(const std::string &text, const fs::path &folder) {
  if (text.empty())
    return text;
  const std::size_t colon = text.find(':');
  const bool has_kind = colon != std::string::npos && text.find('/') > colon;
  std::string result = has_kind ? text.substr(0, colon + 1) : "";
  for (std::size_t begin = result.size(); begin <= text.size();) {
    const std::size_t end = has_kind ? std::min(text.find(',', begin), text.size()) : text.size();
    result += begin > colon + 1 && has_kind ? "," : "";
    result += fs::absolute(folder / text.substr(begin, end - begin)).lexically_normal().string();
    begin = end + 1;
  }
  return result;
}

// Where a value comes from.
struct Origin {
  std::string where; // for errors
  fs::path folder;   // of relative paths
};

void assign(Recipe &recipe, const RecipeKey &key, const toml::node &node, const Origin &origin) {
  const KeyValue value = key.value(recipe);
  if (!std::visit([&](auto *to) { return assign(node, *to); }, value))
    fail(fmt::format("'{}' must be {}", key.name, need_text(key)), origin.where);
  check_value(key, recipe, origin.where);
  if (key.is_path)
    if (auto *const *path = std::get_if<std::string *>(&value))
      **path = with_folder(**path, origin.folder);
}

bool is_section(std::string_view name) {
  return std::any_of(recipe_keys().begin(), recipe_keys().end(),
                     [&](const RecipeKey &key) { return key.section() == name; });
}

// `section` is empty for the first keys.
void read_table(Recipe &recipe, const toml::table &table, const std::string &section,
                const std::string &file) {
  for (const auto &[toml_key, node] : table) {
    const std::string name =
        fmt::format("{}{}{}", section, section.empty() ? "" : ".", toml_key.str());
    const Origin origin{fmt::format("{}:{}", file, toml_key.source().begin.line),
                        fs::path(file).parent_path()};
    const toml::table *inner = node.as_table();
    const RecipeKey *key = find_key(name);
    if (inner != nullptr && section.empty() && is_section(name))
      read_table(recipe, *inner, name, file);
    else if (key == nullptr)
      unknown(name, origin.where);
    else
      assign(recipe, *key, node, origin);
  }
}

// The TOML value of what stands behind "=" on the command line.
toml::table said_value(const KeyValue &kind, std::string_view text, const std::string &where) {
  toml::table table;
  const bool is_bare =
      text.empty() || (text.front() != '"' && text.front() != '\'' && text.front() != '[');
  if (is_bare && std::holds_alternative<std::string *>(kind)) {
    table.insert("value", text);
    return table;
  }
  if (is_bare && std::holds_alternative<std::vector<std::string> *>(kind)) {
    toml::array list;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      list.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    table.insert("value", std::move(list));
    return table;
  }
  const bool is_list = is_bare && std::holds_alternative<std::vector<double> *>(kind);
  try {
    return toml::parse(is_list ? fmt::format("value = [{}]", text)
                               : fmt::format("value = {}", text));
  } catch (const toml::parse_error &) {
    fail("what stands behind '=' is not a value", where);
  }
}

} // namespace

Recipe read_recipe(const std::string &path) { return parse_recipe(read_file(path, kLimit), path); }

Recipe parse_recipe(std::string_view text, const std::string &file) {
  Recipe recipe;
  read_table(recipe, parse_toml(text, file), "", file);
  return recipe;
}

std::string to_text(const Recipe &recipe) {
  std::string text;
  std::string_view section;
  for (const RecipeKey &key : recipe_keys()) {
    if (key.section() != section)
      text += fmt::format("\n[{}]\n", key.section());
    section = key.section();
    text += fmt::format("{} = {}\n", key.leaf(), value_text(key, recipe));
  }
  return text;
}

void set(Recipe &recipe, std::string_view assignment) {
  const std::string where = fmt::format("--set {}", assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    fail("need KEY=VALUE", where);
  const std::string_view name = assignment.substr(0, equals);
  const RecipeKey *key = find_key(name);
  if (key == nullptr)
    unknown(name, where);
  const toml::table said = said_value(key->value(recipe), assignment.substr(equals + 1), where);
  if (said.size() != 1)
    fail("need one value behind '='", where);
  assign(recipe, *key, *said.get("value"), {where, {}});
}

void check(const Recipe &recipe) {
  const auto need = [](bool is_right, const char *what) {
    if (!is_right)
      fail(what, "recipe");
  };
  need(!recipe.model.empty(), "'model' is not said: which ONNX file is trained");
  need(!recipe.data.train.empty(), "'data.train' is not said: what is learned from");
  need(recipe.optimizer.rate > 0, "'optimizer.rate' is not said: the learning rate");
  need(std::has_single_bit(static_cast<std::uint64_t>(recipe.steps.lanes)),
       "'steps.lanes' must be a power of two");
  need(recipe.steps.parts == "f32" || recipe.steps.exchange == "tree",
       "'steps.parts' is \"bf16\", which needs 'steps.exchange' \"tree\": a library would sum in "
       "bf16");
  need(recipe.data.mean.size() == recipe.data.std.size(),
       "'data.mean' and 'data.std' must be given together, as many numbers each");
  need(recipe.rate.warmup_epochs < static_cast<double>(recipe.steps.epochs) ||
           recipe.rate.warmup_epochs == 0,
       "'rate.warmup_epochs' must be less than 'steps.epochs'");
  need(std::is_sorted(recipe.rate.milestones.begin(), recipe.rate.milestones.end()),
       "'rate.milestones' must rise");
  need(recipe.rate.kind != "step" || !recipe.rate.milestones.empty(),
       "'rate.kind' is \"step\", which needs 'rate.milestones'");
  need(recipe.rate.floor <= recipe.optimizer.rate,
       "'rate.floor' must not be above 'optimizer.rate'");
  need(!recipe.optimizer.nesterov || recipe.optimizer.momentum > 0,
       "'optimizer.nesterov' needs a momentum");
  need(recipe.steps.batch > 1 || (recipe.augment.mixup == 0 && recipe.augment.cutmix == 0),
       "'augment.mixup' and 'augment.cutmix' mix the pictures of a batch, which has one: need "
       "'steps.batch' of at least 2");
  need(!recipe.optimizer.sharded || !recipe.optimizer.is_layerwise(),
       "'optimizer.sharded' is of the optimisers \"sgd\" and \"adamw\": others take norms of whole "
       "parameters");
  need(recipe.loss.smoothing == 0 || recipe.loss.kind == "cross_entropy",
       "'loss.smoothing' is of the loss \"cross_entropy\" alone");
}

std::vector<std::string> differences(const Recipe &before, const Recipe &now) {
  std::vector<std::string> lines;
  for (const RecipeKey &key : recipe_keys()) {
    const std::string was = value_text(key, before);
    const std::string is = value_text(key, now);
    if (is != was)
      lines.push_back(fmt::format("{}: {}, was {}", key.name, is, was));
  }
  return lines;
}

} // namespace tilefuse::train
