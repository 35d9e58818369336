// SPDX-License-Identifier: Apache-2.0
#include "onnx/parameters.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
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

// An Add or Mul of what one of these makes adds a bias or scales.
constexpr std::string_view kLinear[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

class Finder {
public:
  explicit Finder(const onnx::GraphProto &graph) {
    for (const auto &tensor : graph.initializer())
      initializers_.insert(tensor.name());
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
      if (node.op_type() == "Add" || node.op_type() == "Mul")
        for (int i = 0; i < 2 && node.input_size() == 2; ++i)
          if (is_linear(node.input(1 - i)))
            add(node, i, node.op_type() == "Add" ? Kind::Bias : Kind::Scale);
    }
    return std::move(found_);
  }

private:
  bool is_linear(const std::string &name) const {
    const auto maker = makers_.find(name);
    return maker != makers_.end() && std::find(std::begin(kLinear), std::end(kLinear),
                                               maker->second->op_type()) != std::end(kLinear);
  }

  // What Identity nodes hand on; nothing for those that hand on themselves.
  std::string behind_identities(std::string name) const {
    for (std::size_t steps = 0; steps <= makers_.size(); ++steps) {
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || maker->second->op_type() != "Identity")
        return name;
      if (maker->second->input_size() != 1)
        break;
      name = maker->second->input(0);
    }
    return {};
  }

  // A node without a result, which the import refuses, reads none.
  void add(const onnx::NodeProto &node, int input, Kind kind) {
    if (node.output_size() == 0)
      return;
    const std::string name = behind_identities(node.input(input));
    if (initializers_.contains(name))
      found_.push_back({node_, input, kind, name});
  }

  std::set<std::string> initializers_;
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
    Parameter parameter{.name = use.name, .kind = use.kind, .type = *type, .shape = {}};
    parameter.shape.assign(tensor.dims().begin(), tensor.dims().end());
    parameter.layer = std::max(layers - 1, 0);
    for (const auto &attribute : graph.node(use.node).attribute()) {
      if (attribute.name() == "momentum")
        parameter.keep = static_cast<double>(attribute.f());
      if (attribute.name() == "transB")
        parameter.is_transposed = attribute.i() != 0;
    }
    found.push_back(std::move(parameter));
  }
  return found;
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
