// SPDX-License-Identifier: Apache-2.0
#include "onnx/products.h"

#include <algorithm>
#include <string_view>

#include "onnx/stored.h"

namespace tilefuse::onnx_import {
namespace {

std::int64_t attribute(const onnx::NodeProto &node, std::string_view name, std::int64_t otherwise) {
  for (const onnx::AttributeProto &each : node.attribute())
    if (each.name() == name)
      return each.i();
  return otherwise;
}

} // namespace

bool is_product(const onnx::NodeProto &node) {
  constexpr std::string_view kNames[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  return node.output_size() > 0 && (node.domain().empty() || node.domain() == "ai.onnx") &&
         std::find(std::begin(kNames), std::end(kNames), node.op_type()) != std::end(kNames);
}

const onnx::TensorProto *weights_of(const onnx::NodeProto &node, onnx::GraphProto &graph) {
  const onnx::TensorProto *weights =
      node.input_size() > kWeights ? find_stored(graph, node.input(kWeights)) : nullptr;
  return weights != nullptr && weights->data_type() == onnx::TensorProto::FLOAT &&
                 weights->dims_size() >= 2
             ? weights
             : nullptr;
}

std::optional<std::size_t> channel_axis(const onnx::NodeProto &node, std::size_t rank) {
  if (node.op_type() == "Conv")
    return 0;
  if (node.op_type() == "ConvTranspose")
    return attribute(node, "group", 1) == 1 ? std::optional<std::size_t>(1) : std::nullopt;
  if (node.op_type() == "Gemm")
    return attribute(node, "transB", 0) != 0 ? 0 : 1;
  return rank - 1;
}

bool adds_plain_bias(const onnx::NodeProto &node) {
  return node.op_type() != "MatMul" &&
         std::none_of(node.attribute().begin(), node.attribute().end(), [](const auto &each) {
           return (each.name() == "alpha" || each.name() == "beta") && each.f() != 1;
         });
}

} // namespace tilefuse::onnx_import
