// SPDX-License-Identifier: Apache-2.0
#include "onnx/parameters.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "onnx.pb.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using Kind = ParameterKind;

// Input `position` of nodes of this type.
struct Row {
  std::string_view op;
  int position;
  Kind kind;
};

constexpr Row kRows[] = {
    {"Conv", 1, Kind::Weight},
    {"Conv", 2, Kind::Bias},
    {"ConvTranspose", 1, Kind::Weight},
    {"ConvTranspose", 2, Kind::Bias},
    {"Gemm", 0, Kind::Weight},
    {"Gemm", 1, Kind::Weight},
    {"Gemm", 2, Kind::Bias},
    {"MatMul", 0, Kind::Weight},
    {"MatMul", 1, Kind::Weight},
    {"BatchNormalization", 1, Kind::Scale},
    {"BatchNormalization", 2, Kind::Bias},
    {"BatchNormalization", 3, Kind::Mean},
    {"BatchNormalization", 4, Kind::Variance},
    {"InstanceNormalization", 1, Kind::Scale},
    {"InstanceNormalization", 2, Kind::Bias},
    {"GroupNormalization", 1, Kind::Scale},
    {"GroupNormalization", 2, Kind::Bias},
    {"LayerNormalization", 1, Kind::Scale},
    {"LayerNormalization", 2, Kind::Bias},
    {"RMSNormalization", 1, Kind::Scale},
    {"PRelu", 1, Kind::Scale},
};

constexpr std::string_view kLinear[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

// They hand on the numbers of their first input, in another place, order or type.
constexpr std::string_view kMoves[] = {"Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze",
                                       "Flatten",  "Cast",      "Gather",  "Slice",   "Split"};

bool is_one_of(std::string_view op, std::span<const std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// What scales channels has one number for each of them.
bool is_vector(const onnx::TensorProto &tensor) {
  return std::count_if(tensor.dims().begin(), tensor.dims().end(),
                       [](std::int64_t dim) { return dim != 1; }) <= 1;
}

class Finder {
public:
  explicit Finder(const onnx::GraphProto &graph) {
    for (const auto &tensor : graph.initializer())
      initializers_.emplace(tensor.name(), &tensor);
    for (const auto &node : graph.node())
      for (const std::string &output : node.output())
        makers_.emplace(output, &node);
  }

  std::vector<ParameterUse> find(const onnx::GraphProto &graph) {
    for (node_ = 0; node_ < graph.node_size(); ++node_) {
      const onnx::NodeProto &node = graph.node(node_);
      for (const Row &row : kRows)
        if (row.op == node.op_type() && row.position < node.input_size())
          add(node, row.position, row.kind);
      if ((node.op_type() == "Add" || node.op_type() == "Mul") && node.input_size() == 2)
        for (int i = 0; i < 2; ++i)
          add_to_linear(node, i);
    }
    return std::move(found_);
  }

private:
  // An Add of what layers made, moved, put together or scaled by an attention, adds a bias; a Mul of
  // that, and of what a bias was added to, scales its channels. A number without dimensions is a
  // constant of arithmetic, as the 3 of a hard swish.
  void add_to_linear(const onnx::NodeProto &node, int input) {
    const bool adds = node.op_type() == "Add";
    const auto tensor = initializers_.find(behind_moves(node.input(input)).name);
    if (tensor == initializers_.end() || tensor->second->dims_size() == 0 ||
        (!adds && !is_vector(*tensor->second)))
      return;
    if (is_linear(node.input(1 - input), adds))
      add(node, input, adds ? Kind::Bias : Kind::Scale);
  }

  bool is_linear(const std::string &name, bool adds) const {
    std::vector<std::string> waiting = {name};
    std::set<std::string> seen;
    while (!waiting.empty()) {
      const std::string made = std::move(waiting.back());
      waiting.pop_back();
      const auto maker = makers_.find(made);
      if (maker == makers_.end() || !seen.insert(made).second)
        continue;
      const onnx::NodeProto &node = *maker->second;
      const std::string_view op = node.op_type();
      if (is_one_of(op, kLinear))
        return true;
      if (op == "Concat" || (op == "Add" && !adds))
        waiting.insert(waiting.end(), node.input().begin(), node.input().end());
      else if (node.input_size() > 0 &&
               (is_one_of(op, kMoves) || (adds && (op == "Mul" || op == "Div"))))
        waiting.push_back(node.input(0));
    }
    return false;
  }

  // What nodes that move numbers were given; no name for those that hand on themselves.
  ParameterUse behind_moves(std::string name) const {
    ParameterUse use;
    for (std::size_t steps = 0; steps <= makers_.size(); ++steps) {
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || !is_one_of(maker->second->op_type(), kMoves)) {
        use.name = std::move(name);
        return use;
      }
      if (maker->second->input_size() == 0)
        break;
      use.is_moved |= maker->second->op_type() != "Identity";
      use.is_transposed ^= maker->second->op_type() == "Transpose";
      name = maker->second->input(0);
    }
    return use;
  }

  // A node without a result, which the import refuses, reads none.
  void add(const onnx::NodeProto &node, int input, Kind kind) {
    if (node.output_size() == 0)
      return;
    ParameterUse use = behind_moves(node.input(input));
    if (!initializers_.contains(use.name))
      return;
    use.node = node_;
    use.input = input;
    use.kind = kind;
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "transB")
        use.is_transposed ^= attribute.i() != 0;
    found_.push_back(std::move(use));
  }

  std::map<std::string, const onnx::TensorProto *> initializers_;
  std::map<std::string, const onnx::NodeProto *> makers_;
  std::vector<ParameterUse> found_;
  int node_ = 0;
};

} // namespace

std::vector<ParameterUse> parameter_uses(const onnx::GraphProto &graph) {
  return Finder(graph).find(graph);
}

std::vector<Parameter> parameters(const onnx::GraphProto &graph) {
  std::map<std::string, const onnx::TensorProto *> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.emplace(tensor.name(), &tensor);
  std::set<std::string> names;
  std::vector<Parameter> found;
  int layers = 0;
  for (const ParameterUse &use : parameter_uses(graph)) {
    const onnx::TensorProto &tensor = *initializers.at(use.name);
    const std::optional<DType> type = to_dtype(tensor.data_type());
    if (!type || !is_float(*type) || !names.insert(use.name).second)
      continue;
    layers += use.kind == Kind::Weight ? 1 : 0;
    Parameter parameter{.name = use.name,
                        .kind = use.kind,
                        .type = *type,
                        .shape = {},
                        .is_transposed = use.is_transposed};
    parameter.shape.assign(tensor.dims().begin(), tensor.dims().end());
    parameter.layer = std::max(layers - 1, 0);
    for (const auto &attribute : graph.node(use.node).attribute())
      if (attribute.name() == "momentum")
        parameter.keep = static_cast<double>(attribute.f());
    found.push_back(std::move(parameter));
  }
  return found;
}

std::vector<Parameter> left_as_they_are(const onnx::GraphProto &graph) {
  std::set<std::string> known;
  for (const Parameter &parameter : parameters(graph))
    known.insert(parameter.name);
  std::vector<Parameter> left;
  for (const auto &tensor : graph.initializer()) {
    const std::optional<DType> type = to_dtype(tensor.data_type());
    Parameter each{.name = tensor.name(), .type = type.value_or(DType::F32), .shape = {}};
    each.shape.assign(tensor.dims().begin(), tensor.dims().end());
    if (type && is_float(*type) && !known.contains(each.name) && program::elems(each.shape) > 1)
      left.push_back(std::move(each));
  }
  return left;
}

bool is_quantized(const onnx::GraphProto &graph) {
  constexpr std::string_view kMarks[] = {"Quantize", "QLinear", "ConvInteger", "MatMulInteger"};
  return std::any_of(graph.node().begin(), graph.node().end(), [&](const onnx::NodeProto &node) {
    return std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view mark) {
      return node.op_type().find(mark) != std::string::npos;
    });
  });
}

std::int64_t quantized_since(const onnx::GraphProto &graph) {
  constexpr std::int64_t kSince = 10, kAxisSince = 13;
  std::int64_t since = 1;
  for (const onnx::NodeProto &node : graph.node()) {
    if ((!node.domain().empty() && node.domain() != "ai.onnx") ||
        (node.op_type() != "QuantizeLinear" && node.op_type() != "DequantizeLinear"))
      continue;
    const bool has_axis =
        std::any_of(node.attribute().begin(), node.attribute().end(),
                    [](const onnx::AttributeProto &each) { return each.name() == "axis"; });
    since = std::max(since, has_axis ? kAxisSince : kSince);
  }
  return since;
}

std::string logits_name(const onnx::GraphProto &graph) {
  if (graph.output_size() == 0)
    return {};
  const std::string &output = graph.output(0).name();
  for (const auto &node : graph.node())
    if (node.output_size() > 0 && node.output(0) == output &&
        (node.op_type() == "Softmax" || node.op_type() == "LogSoftmax"))
      return node.input(0);
  return output;
}

} // namespace tilefuse::onnx_import
