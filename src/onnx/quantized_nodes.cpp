// SPDX-License-Identifier: Apache-2.0
#include "onnx/quantized_nodes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::onnx_import {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

constexpr int kAll = -1;                 // operands up to the last
constexpr std::int64_t kDefaultAxis = 1; // of DequantizeLinear

struct Row {
  std::string_view name;
  std::string_view standard;
  int operands = 1; // each with scale and zero point
  int first = 0;    // where they begin
  int result = 3;   // where the result's scale and zero point are
};

constexpr Row kRows[] = {
    {"QLinearAdd", "Add", 2, 0, 6},          {"QLinearAveragePool", "AveragePool"},
    {"QLinearConcat", "Concat", kAll, 2, 0}, {"QLinearGlobalAveragePool", "GlobalAveragePool"},
    {"QLinearLeakyRelu", "LeakyRelu"},       {"QLinearMul", "Mul", 2, 0, 6},
    {"QLinearSigmoid", "Sigmoid"},           {"QLinearSoftmax", "Softmax"},
};
constexpr std::string_view kGemm = "QGemm";

std::int64_t integer(const onnx::NodeProto &node, std::string_view name, std::int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

// Attributes of these operators that those of the standard lack.
bool is_own(const std::string &name) { return name == "channels_last" || name == "opset"; }

class Expanding {
public:
  Expanding(const onnx::NodeProto &node, Nodes &to)
      : node_(node), to_(to), prefix_(node.output(0) + "/") {}

  void run(const Row &row) {
    const int count = row.operands == kAll ? (node_.input_size() - row.first) / 3 : row.operands;
    std::vector<std::string> values;
    for (int k = 0; k < count; ++k)
      values.push_back(dequantized(row.first + 3 * k));
    onnx::NodeProto &standard = add(std::string(row.standard), values, prefix_ + "f");
    for (const onnx::AttributeProto &attribute : node_.attribute())
      if (!is_own(attribute.name()))
        *standard.add_attribute() = attribute;
    quantize(row.result);
  }

  // A bias counts in units of the product of both scales.
  void run_gemm() {
    const bool is_turned = integer(node_, "transB", 0) != 0;
    std::vector<std::string> values{dequantized(0), dequantized(3, is_turned ? 0 : 1)};
    if (!input(6).empty()) {
      add("Mul", {input(1), input(4)}, prefix_ + "unit");
      set_axis(add("DequantizeLinear", {input(6), prefix_ + "unit"}, prefix_ + "bias"), 0);
      values.push_back(prefix_ + "bias");
    }
    const bool is_quantized = !input(7).empty();
    onnx::NodeProto &gemm = add("Gemm", values, is_quantized ? prefix_ + "f" : node_.output(0));
    for (const onnx::AttributeProto &attribute : node_.attribute())
      *gemm.add_attribute() = attribute;
    if (is_quantized)
      quantize(7);
  }

private:
  std::string input(int i) const { return i < node_.input_size() ? node_.input(i) : ""; }

  onnx::NodeProto &add(const std::string &op, const std::vector<std::string> &inputs,
                       const std::string &output) {
    onnx::NodeProto &node = *to_.Add();
    node.set_op_type(op);
    node.set_name(node_.name());
    for (const std::string &name : inputs)
      node.add_input(name);
    node.add_output(output);
    return node;
  }

  static void set_axis(onnx::NodeProto &node, std::int64_t axis) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(axis);
  }

  std::string dequantized(int i, std::int64_t axis = kDefaultAxis) {
    const std::string name = prefix_ + std::to_string(i);
    onnx::NodeProto &node = add("DequantizeLinear", {input(i), input(i + 1), input(i + 2)}, name);
    if (axis != kDefaultAxis)
      set_axis(node, axis);
    return name;
  }

  void quantize(int i) {
    add("QuantizeLinear", {prefix_ + "f", input(i), input(i + 1)}, node_.output(0));
  }

  const onnx::NodeProto &node_;
  Nodes &to_;
  const std::string prefix_;
};

bool expand(const onnx::NodeProto &node, Nodes &to) {
  if (node.domain() != "com.microsoft" || node.output_size() != 1 ||
      integer(node, "channels_last", 0) != 0)
    return false;
  if (node.op_type() == kGemm) {
    Expanding(node, to).run_gemm();
    return true;
  }
  for (const Row &row : kRows)
    if (node.op_type() == row.name) {
      Expanding(node, to).run(row);
      return true;
    }
  return false;
}

} // namespace

void expand_quantized_nodes(onnx::ModelProto &model) {
  Nodes result;
  for (const onnx::NodeProto &node : model.graph().node())
    if (!expand(node, result))
      *result.Add() = node;
  model.mutable_graph()->mutable_node()->Swap(&result);
}

} // namespace tilefuse::onnx_import
