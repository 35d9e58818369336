// SPDX-License-Identifier: Apache-2.0
#include "onnx/free_names.h"

namespace tilefuse::onnx_import {

std::string FreeNames::take(const std::string &wanted) {
  std::string name = wanted;
  for (int k = 1; !taken_.insert(name).second; ++k)
    name = wanted + "_" + std::to_string(k);
  return name;
}

void FreeNames::add(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &input : graph.input())
    taken_.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    taken_.insert(tensor.name());
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    taken_.insert(tensor.values().name());
  for (const onnx::NodeProto &node : graph.node()) {
    taken_.insert(node.input().begin(), node.input().end());
    taken_.insert(node.output().begin(), node.output().end());
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        add(attribute.g());
  }
}

} // namespace tilefuse::onnx_import
