// SPDX-License-Identifier: Apache-2.0
#include "onnx/quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/index.h"
#include "onnx/check.h"
#include "onnx/products.h"
#include "onnx/stored.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using program::HostTensor;
using program::LinearScale;
using program::Range;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

constexpr std::int64_t kAxisSince = 13;
constexpr std::int64_t kConstantsAreNoInputs = 4;
constexpr const char *kOtherDomain = "com.microsoft";
constexpr double kMost = 127;            // of weights
constexpr double kMostBias = 2147483647; // of 32 bits

// Weights as integers times a scale for each point of a dimension, or one for all.
struct RoundedWeights {
  std::string name; // of what is dequantised
  std::optional<std::size_t> axis;
  std::vector<float> scales;
};

class Quantizing {
public:
  Quantizing(ModelFile &file, const RoundingPlan &plan, const std::map<std::string, Range> &ranges)
      : file_(file), graph_(*file.model.mutable_graph()), plan_(plan),
        products_(plan.products.begin(), plan.products.end()) {
    for (const std::string &value : plan.values) {
      Range &range = ranges_[plan.scale_of.at(value)];
      range = joined(range, ranges.at(value));
    }
  }

  void run() {
    drop_constant_inputs();
    for (const onnx::ValueInfoProto &input : graph_.input())
      round(input.name());
    for (onnx::NodeProto node : *graph_.mutable_node()) {
      if (products_.count(name_of(node)) != 0)
        round_weights(node);
      for (std::string &operand : *node.mutable_input())
        if (const auto rounded = rounded_.find(operand); rounded != rounded_.end())
          operand = rounded->second;
      *nodes_.Add() = node;
      for (const std::string &result : node.output())
        round(result);
    }
    graph_.mutable_node()->Swap(&nodes_);
    drop_unused();
    if (file_.opset < kAxisSince)
      import_other_domain();
  }

private:
  LinearScale scale_of(const std::string &value) const {
    return unsigned_scale(ranges_.at(plan_.scale_of.at(value)));
  }

  void round(const std::string &value) {
    if (plan_.scale_of.count(value) == 0)
      return;
    const LinearScale scale = scale_of(value);
    add_constant(value + "/scale", DType::F32, {}, {static_cast<double>(scale.scale)});
    add_constant(value + "/zero", DType::U8, {}, {static_cast<double>(scale.zero)});
    add_node("QuantizeLinear", {value, value + "/scale", value + "/zero"}, value + "/q");
    rounded_[value] = dequantize(value + "/q", value, value + "/d", {});
  }

  // What scales `whole` by the constants NAME/scale and NAME/zero.
  std::string dequantize(const std::string &whole, const std::string &name,
                         const std::string &result, std::optional<std::size_t> axis) {
    onnx::NodeProto &node =
        add_node("DequantizeLinear", {whole, name + "/scale", name + "/zero"}, result);
    if (axis) {
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(static_cast<std::int64_t>(*axis));
    }
    return result;
  }

  onnx::NodeProto &add_node(const std::string &op, const std::vector<std::string> &inputs,
                            const std::string &output) {
    onnx::NodeProto &node = *nodes_.Add();
    node.set_op_type(op);
    node.set_name(output);
    if (file_.opset < kAxisSince)
      node.set_domain(kOtherDomain);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }

  void add_constant(const std::string &name, DType type, const program::Shape &shape,
                    const std::vector<double> &values) {
    HostTensor tensor = program::make_host_tensor(name, type, shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      set(tensor, static_cast<std::int64_t>(i), values[i]);
    onnx::TensorProto &stored = *graph_.add_initializer();
    stored.set_name(name);
    store(stored, tensor);
  }

  HostTensor stored(const std::string &name) {
    return to_host_tensor(*find_stored(graph_, name), file_.folder);
  }

  void round_weights(onnx::NodeProto &node) {
    const std::string name = node.input(kWeights);
    const auto axis =
        channel_axis(node, static_cast<std::size_t>(find_stored(graph_, name)->dims_size()));
    const std::pair key{name, axis};
    if (weights_.count(key) == 0)
      weights_[key] = rounded_weights(name, axis);
    const RoundedWeights &weights = weights_.at(key);
    const float data_scale = scale_of(node.input(0)).scale;
    node.set_input(kWeights, weights.name);
    if (has_bias(node))
      node.set_input(kBias, rounded_bias(node, weights, data_scale));
  }

  RoundedWeights rounded_weights(const std::string &name, std::optional<std::size_t> axis) {
    const HostTensor values = stored(name);
    const std::int64_t count = program::elems(values.shape);
    const std::int64_t channels = axis ? values.shape[*axis] : 1;
    const std::int64_t stride = axis ? program::row_major(values.shape)[*axis] : 1;
    const auto channel = [&](std::int64_t i) { return at(i / stride % channels); };
    std::vector<double> largest(at(channels), 0), whole(at(count));
    for (std::int64_t i = 0; i < count; ++i)
      largest[channel(i)] = std::max(largest[channel(i)], std::fabs(get(values, i)));
    RoundedWeights result{name + (axis ? "/d" + std::to_string(*axis) : "/d"), axis, {}};
    for (const double most : largest)
      result.scales.push_back(program::signed_scale(most));
    for (std::int64_t i = 0; i < count; ++i)
      whole[at(i)] = std::clamp(
          std::nearbyint(get(values, i) / static_cast<double>(result.scales[channel(i)])), -kMost,
          kMost);
    add_constant(result.name + "/i8", DType::I8, values.shape, whole);
    add_scales(result.name, axis, result.scales, DType::I8);
    dequantize(result.name + "/i8", result.name, result.name, axis);
    return result;
  }

  void add_scales(const std::string &name, std::optional<std::size_t> axis,
                  const std::vector<float> &scales, DType type) {
    program::Shape shape;
    if (axis)
      shape.push_back(static_cast<std::int64_t>(scales.size()));
    add_constant(name + "/scale", DType::F32, shape, {scales.begin(), scales.end()});
    add_constant(name + "/zero", type, shape, std::vector<double>(scales.size(), 0));
  }

  // A vector of f32 that is added to the products as they are.
  bool has_bias(const onnx::NodeProto &node) {
    if (node.input_size() <= kBias || !adds_plain_bias(node))
      return false;
    const onnx::TensorProto *bias = find_stored(graph_, node.input(kBias));
    return bias != nullptr && bias->dims_size() == 1 &&
           bias->data_type() == onnx::TensorProto::FLOAT;
  }

  std::string rounded_bias(const onnx::NodeProto &node, const RoundedWeights &weights, float data) {
    const HostTensor values = stored(node.input(kBias));
    const std::int64_t count = program::elems(values.shape);
    const bool is_single = weights.scales.size() == 1;
    std::vector<float> scales;
    std::vector<double> whole;
    for (std::int64_t i = 0; i < count; ++i) {
      const float unit = weights.scales[is_single ? 0 : at(i)] * data;
      const double value = std::nearbyint(get(values, i) / static_cast<double>(unit));
      whole.push_back(std::clamp(value, -kMostBias, kMostBias));
      if (scales.empty() || !is_single)
        scales.push_back(unit);
    }
    const std::string name = node.output(0) + "/b";
    add_constant(name + "/i32", DType::I32, values.shape, whole);
    const auto axis = is_single ? std::nullopt : std::optional<std::size_t>(0);
    add_scales(name, axis, scales, DType::I32);
    return dequantize(name + "/i32", name, name, axis);
  }

  // Weights and biases that nobody reads as floats any more.
  void drop_unused() {
    std::set<std::string> used;
    add_used_names(graph_, used);
    auto &stored = *graph_.mutable_initializer();
    stored.erase(std::remove_if(stored.begin(), stored.end(),
                                [&](const auto &tensor) { return used.count(tensor.name()) == 0; }),
                 stored.end());
  }

  // Constants are no inputs, as files of version 4 and later may have it: what is rounded here is
  // not to be given at a run.
  void drop_constant_inputs() {
    if (file_.model.ir_version() < kConstantsAreNoInputs)
      file_.model.set_ir_version(kConstantsAreNoInputs);
    std::set<std::string> constants;
    for (const onnx::TensorProto &tensor : graph_.initializer())
      constants.insert(tensor.name());
    auto &inputs = *graph_.mutable_input();
    inputs.erase(
        std::remove_if(inputs.begin(), inputs.end(),
                       [&](const auto &each) { return constants.count(each.name()) != 0; }),
        inputs.end());
  }

  void import_other_domain() {
    for (const onnx::OperatorSetIdProto &known : file_.model.opset_import())
      if (known.domain() == kOtherDomain)
        return;
    onnx::OperatorSetIdProto &entry = *file_.model.add_opset_import();
    entry.set_domain(kOtherDomain);
    entry.set_version(1);
  }

  ModelFile &file_;
  onnx::GraphProto &graph_;
  const RoundingPlan &plan_;
  const std::set<std::string> products_;
  std::map<int, Range> ranges_; // by scale
  Nodes nodes_;
  std::map<std::string, std::string> rounded_; // values, where they are rounded
  std::map<std::pair<std::string, std::optional<std::size_t>>, RoundedWeights> weights_;
};

} // namespace

void quantize(ModelFile &file, const RoundingPlan &plan,
              const std::map<std::string, Range> &ranges) {
  Quantizing(file, plan, ranges).run();
}

} // namespace tilefuse::onnx_import
