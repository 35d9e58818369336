// SPDX-License-Identifier: Apache-2.0
#include "onnx/quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/index.h"
#include "onnx/check.h"
#include "onnx/free_names.h"
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
  std::string name; // of their dequantised form
  bool is_zero = false;
  std::vector<float> scales;
};

// Of weights: no scale of f32 makes integers of them.
bool is_nothing(double largest) { return !std::isnormal(static_cast<float>(largest / kMost)); }

class Quantizing {
public:
  Quantizing(ModelFile &file, const RoundingPlan &plan, const std::map<std::string, Range> &ranges)
      : file_(file), graph_(*file.model.mutable_graph()), names_(graph_), plan_(plan),
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
      if (is_product(node) && products_.count(node.output(0)) != 0)
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
    const LinearScale linear = scale_of(value);
    const std::string scale =
        add_constant(value + "/scale", DType::F32, {}, {double(linear.scale)});
    const std::string zero = add_constant(value + "/zero", DType::U8, {}, {double(linear.zero)});
    const std::string whole = add_node("QuantizeLinear", {value, scale, zero}, value + "/q");
    rounded_[value] = add_node("DequantizeLinear", {whole, scale, zero}, value + "/d");
  }

  // A constant of integers times scales, around 0; the name of the product.
  std::string dequantized(const std::string &name, const HostTensor &whole,
                          std::optional<std::size_t> axis, const std::vector<float> &scales) {
    program::Shape shape;
    if (axis)
      shape.push_back(static_cast<std::int64_t>(scales.size()));
    const std::string integers =
        add_constant(name + (whole.type == DType::I8 ? "/i8" : "/i32"), whole);
    const std::string scale =
        add_constant(name + "/scale", DType::F32, shape, {scales.begin(), scales.end()});
    const std::string zero =
        add_constant(name + "/zero", whole.type, shape, std::vector<double>(scales.size(), 0));
    const std::string result = add_node("DequantizeLinear", {integers, scale, zero}, name);
    if (axis) {
      onnx::NodeProto &node = *nodes_.rbegin();
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(static_cast<std::int64_t>(*axis));
    }
    return result;
  }

  // The name of its result.
  std::string add_node(const std::string &op, const std::vector<std::string> &inputs,
                       const std::string &wanted) {
    const std::string output = names_.take(wanted);
    onnx::NodeProto &node = *nodes_.Add();
    node.set_op_type(op);
    node.set_name(output);
    if (file_.opset < kAxisSince)
      node.set_domain(kOtherDomain);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return output;
  }

  static HostTensor tensor_of(DType type, const program::Shape &shape,
                              const std::vector<double> &values) {
    HostTensor tensor = program::make_host_tensor("", type, shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      set(tensor, static_cast<std::int64_t>(i), values[i]);
    return tensor;
  }

  // Its name.
  std::string add_constant(const std::string &wanted, const HostTensor &tensor) {
    onnx::TensorProto &stored = *graph_.add_initializer();
    stored.set_name(names_.take(wanted));
    store(stored, tensor);
    return stored.name();
  }

  std::string add_constant(const std::string &wanted, DType type, const program::Shape &shape,
                           const std::vector<double> &values) {
    return add_constant(wanted, tensor_of(type, shape, values));
  }

  HostTensor stored(const std::string &name) {
    return to_host_tensor(file_, *find_stored(graph_, name));
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
      round_bias(node, weights, data_scale);
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
    const double most = *std::max_element(largest.begin(), largest.end());
    RoundedWeights result{"", is_nothing(most), {}};
    for (const double own : largest)
      result.scales.push_back(program::signed_scale(is_nothing(own) ? most : own));
    for (std::int64_t i = 0; i < count; ++i)
      whole[at(i)] = std::clamp(
          std::nearbyint(get(values, i) / static_cast<double>(result.scales[channel(i)])), -kMost,
          kMost);
    result.name = dequantized(name + (axis ? "/d" + std::to_string(*axis) : "/d"),
                              tensor_of(DType::I8, values.shape, whole), axis, result.scales);
    return result;
  }

  // A vector of f32 that is added to the products as they are.
  bool has_bias(const onnx::NodeProto &node) {
    if (node.input_size() <= kBias || !adds_plain_bias(node))
      return false;
    const onnx::TensorProto *bias = find_stored(graph_, node.input(kBias));
    return bias != nullptr && bias->dims_size() == 1 &&
           bias->data_type() == onnx::TensorProto::FLOAT;
  }

  // Where all weights become zeros their scale says nothing of a bias, which stays as it is.
  void round_bias(onnx::NodeProto &node, const RoundedWeights &weights, float data) {
    const HostTensor values = stored(node.input(kBias));
    std::vector<float> units;
    for (const float scale : weights.scales)
      units.push_back(scale * data);
    const std::size_t stored = at(program::elems(values.shape));
    std::vector<double> whole(std::max(stored, units.size()));
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] = std::nearbyint(get(values, static_cast<std::int64_t>(i % stored)) /
                                static_cast<double>(units[i % units.size()]));
    const bool is_held = std::all_of(whole.begin(), whole.end(), [](double value) {
      return std::fabs(value) <= kMostBias; // no NaN either
    });
    if (weights.is_zero || !is_held)
      return;
    const auto axis = units.size() == 1 ? std::nullopt : std::optional<std::size_t>(0);
    const program::Shape shape{static_cast<std::int64_t>(whole.size())};
    node.set_input(kBias, dequantized(node.output(0) + "/b", tensor_of(DType::I32, shape, whole),
                                      axis, units));
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
  FreeNames names_;
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
