// SPDX-License-Identifier: Apache-2.0
#include "onnx/rounding_plan.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/disjoint_sets.h"
#include "base/error.h"
#include "base/scanner.h"
#include "onnx.pb.h"
#include "onnx/check.h"
#include "onnx/parameters.h"
#include "onnx/products.h"
#include "onnx/stored.h"

namespace tilefuse::onnx_import {
namespace {

// Limits: what becomes bounds of the integers it is rounded to.
enum class Kind { Joins, Moves, Limits, Other };

struct Row {
  std::string_view op;
  Kind kind;
  int operands = 1; // that are rounded; kAll: all of them
};
constexpr int kAll = -1;

constexpr Row kRows[] = {
    {"Add", Kind::Joins, kAll},
    {"Sum", Kind::Joins, kAll},
    {"AveragePool", Kind::Joins},
    {"GlobalAveragePool", Kind::Joins},
    {"Concat", Kind::Moves, kAll},
    {"Clip", Kind::Limits},
    {"Relu", Kind::Limits},
    {"DepthToSpace", Kind::Moves},
    {"Dropout", Kind::Moves},
    {"Flatten", Kind::Moves},
    {"GlobalMaxPool", Kind::Moves},
    {"Identity", Kind::Moves},
    {"MaxPool", Kind::Moves},
    {"Reshape", Kind::Moves},
    {"Slice", Kind::Moves},
    {"SpaceToDepth", Kind::Moves},
    {"Split", Kind::Moves},
    {"Squeeze", Kind::Moves},
    {"Transpose", Kind::Moves},
    {"Unsqueeze", Kind::Moves},
};
constexpr Row kOther{"", Kind::Other, 0};

const Row &row_of(const onnx::NodeProto &node) {
  for (const Row &row : kRows)
    if (node.op_type() == row.op && (node.domain().empty() || node.domain() == "ai.onnx"))
      return row;
  return kOther;
}

class Planning {
public:
  Planning(onnx::GraphProto &graph, const std::set<std::string> &keep)
      : graph_(graph), keep_(keep) {}

  RoundingPlan run() {
    for (int n = graph_.node_size() - 1; n >= 0; --n)
      want(graph_.node(n));
    std::reverse(plan_.products.begin(), plan_.products.end());
    std::reverse(plan_.kept.begin(), plan_.kept.end());
    check_names();
    number_scales();
    return std::move(plan_);
  }

private:
  bool is_stored(const std::string &name) { return find_stored(graph_, name) != nullptr; }

  void want(const onnx::NodeProto &node) {
    if (is_product(node))
      return want_product(node);
    const Row &row = row_of(node);
    if (row.kind == Kind::Other || node.input_size() == 0)
      return;
    const int operands = row.operands == kAll ? node.input_size() : row.operands;
    for (int i = 0; i < operands; ++i)
      if (is_stored(node.input(i)))
        return;
    const auto any = [&](const std::set<std::string> &names) {
      return std::any_of(node.output().begin(), node.output().end(),
                         [&](const std::string &name) { return names.count(name) != 0; });
    };
    const bool is_rounded = any(wanted_), is_near = is_rounded || any(limited_);
    for (int i = 0; i < operands; ++i)
      if (row.kind == Kind::Joins ? is_near : is_rounded && row.kind == Kind::Moves)
        want(node.input(i));
      else if (is_near)
        limited_.insert(node.input(i));
    if (is_rounded && row.kind == Kind::Moves)
      note_move(node, operands);
  }

  void want_product(const onnx::NodeProto &node) {
    const std::string why = reason_to_keep(node);
    if (!why.empty()) {
      plan_.kept.push_back(fmt::format("{}: {}", node.output(0), why));
      return;
    }
    plan_.products.push_back(node.output(0));
    want(node.input(0));
  }

  std::string reason_to_keep(const onnx::NodeProto &node) {
    if (is_asked_for(node.name()) || is_asked_for(node.output(0)))
      return "asked for";
    if (weights_of(node, graph_) == nullptr)
      return "its weights are not stored, or not in f32";
    return is_stored(node.input(0)) ? "its data are stored" : "";
  }

  bool is_asked_for(const std::string &name) {
    if (keep_.count(name) == 0)
      return false;
    found_.insert(name);
    return true;
  }

  void want(const std::string &name) { wanted_.insert(name); }

  void note_move(const onnx::NodeProto &node, int operands) {
    for (const std::string &output : node.output()) {
      if (wanted_.count(output) == 0)
        continue;
      moved_.insert(output);
      for (int i = 0; i < operands; ++i)
        alike_.emplace_back(output, node.input(i));
    }
  }

  void check_names() const {
    for (const std::string &name : keep_)
      if (found_.count(name) == 0)
        throw Error(ErrorCode::Unsupported,
                    fmt::format("there is no product {} to keep in f32", tilefuse::quoted(name)),
                    {}, {fmt::format("products are {}", fmt::join(plan_.products, ", "))});
  }

  void number_scales() {
    std::map<std::string, std::size_t> numbers;
    for (const std::string &name : wanted_)
      numbers.emplace(name, numbers.size());
    DisjointSets sets(numbers.size());
    for (const auto &[a, b] : alike_)
      sets.join(numbers.at(a), numbers.at(b));
    for (const auto &[name, number] : numbers) {
      plan_.scale_of[name] = static_cast<int>(sets.root(number));
      if (moved_.count(name) == 0)
        plan_.values.push_back(name);
    }
  }

  onnx::GraphProto &graph_;
  const std::set<std::string> &keep_;
  RoundingPlan plan_;
  std::set<std::string> found_;   // names of `keep_` that products have
  std::set<std::string> wanted_;  // values that are rounded
  std::set<std::string> moved_;   // of them, what only moves others
  std::set<std::string> limited_; // values that are rounded within bounds
  std::vector<std::pair<std::string, std::string>> alike_;
};

} // namespace

RoundingPlan plan_rounding(onnx::ModelProto &model, const std::set<std::string> &keep) {
  if (is_quantized(model.graph()))
    throw Error(ErrorCode::Unsupported, "the model is quantised already", {},
                {"it runs in integers as it is, without --precision int8"});
  RoundingPlan plan = Planning(*model.mutable_graph(), keep).run();
  if (plan.products.empty())
    throw Error(ErrorCode::Unsupported, "the model has no product to compute in 8-bit integers", {},
                plan.kept);
  return plan;
}

} // namespace tilefuse::onnx_import
