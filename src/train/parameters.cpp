// SPDX-License-Identifier: Apache-2.0
#include "train/parameters.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/scanner.h"

namespace tilefuse::train {
namespace {

using onnx_import::Parameter;
using onnx_import::ParameterKind;

bool matches(const std::string &pattern, const std::string &name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string> &patterns, const std::string &name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string &pattern) { return matches(pattern, name); });
}

void check_patterns(const std::vector<std::string> &patterns, const std::vector<Parameter> &all) {
  for (const std::string &pattern : patterns)
    if (std::none_of(all.begin(), all.end(),
                     [&](const Parameter &each) { return matches(pattern, each.name); }))
      throw Error(ErrorCode::Shape, fmt::format("no parameter of the model matches '{}'", pattern),
                  {}, {fmt::format("its first parameter is '{}'", all.front().name)});
}

} // namespace

std::vector<Parameter> chosen(const onnx_import::Model &model, const Recipe::Parameters &recipe) {
  if (model.is_quantized())
    throw Error(ErrorCode::Unsupported, "the model is quantised; such models are not trained", {},
                {"the float model that it was made of can be trained, and quantised again"});
  const std::vector<Parameter> all = model.parameters();
  if (all.empty())
    throw Error(ErrorCode::Shape, "the model has no parameter that could be trained", {},
                {"parameters are float initializers that layers read"});
  check_patterns(recipe.train, all);
  check_patterns(recipe.freeze, all);
  int layers = 0;
  for (const Parameter &each : all)
    layers = std::max(layers, each.layer + 1);
  const std::int64_t first = recipe.last > 0 ? layers - recipe.last : 0;
  std::vector<Parameter> found;
  bool has_trained = false;
  for (const Parameter &each : all) {
    const bool is_wanted = each.layer >= first && matches_any(recipe.train, each.name) &&
                           !matches_any(recipe.freeze, each.name);
    if (!is_wanted || (is_statistic(each.kind) && recipe.batch_norm == "frozen"))
      continue;
    has_trained |= !is_statistic(each.kind);
    found.push_back(each);
  }
  if (!has_trained)
    throw Error(ErrorCode::Shape, "the recipe freezes every parameter of the model");
  return found;
}

ParameterPool make_pool(std::vector<Parameter> parameters) {
  std::stable_partition(parameters.begin(), parameters.end(),
                        [](const Parameter &each) { return !is_statistic(each.kind); });
  ParameterPool pool;
  for (const Parameter &parameter : parameters) {
    PooledParameter entry{.parameter = parameter, .row = pool.rows};
    entry.rows = (entry.elems() + kRow - 1) / kRow;
    pool.rows += entry.rows;
    pool.trained += is_statistic(parameter.kind) ? 0 : entry.rows;
    pool.entries.push_back(std::move(entry));
  }
  return pool;
}

RowRange own_rows(const ParameterPool &pool, int workers, int rank) {
  const std::int64_t count = (pool.rows + workers - 1) / workers;
  return {rank * count, count};
}

std::string summary(const ParameterPool &pool) {
  std::set<int> layers;
  std::int64_t numbers = 0, trained = 0, normalisations = 0;
  for (const PooledParameter &entry : pool.entries) {
    if (is_statistic(entry.parameter.kind)) {
      normalisations += entry.parameter.kind == ParameterKind::Mean ? 1 : 0;
      continue;
    }
    layers.insert(entry.parameter.layer);
    numbers += entry.elems();
    ++trained;
  }
  return fmt::format("{} parameters of {} numbers in {} layers, {} normalisations at training",
                     trained, numbers, layers.size(), normalisations);
}

std::string left_text(const std::vector<Parameter> &left) {
  constexpr std::size_t kNamed = 3;
  if (left.empty())
    return {};
  std::vector<std::string> names;
  std::int64_t numbers = 0;
  for (const Parameter &each : left) {
    numbers += program::elems(each.shape);
    if (names.size() < kNamed)
      names.push_back(quoted(each.name));
  }
  return fmt::format("left     {} tensor{} of {} numbers that no layer reads as a parameter: {}{}\n",
                     left.size(), left.size() == 1 ? "" : "s", numbers, fmt::join(names, ", "),
                     left.size() > kNamed ? ", …" : "");
}

} // namespace tilefuse::train
