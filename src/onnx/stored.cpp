// SPDX-License-Identifier: Apache-2.0
#include "onnx/stored.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace {

// Down from a graph to its tensors. A member that a message lacks is not made.
class TensorWalk {
public:
  explicit TensorWalk(const TensorVisitor &visit) : visit_(visit) {}

  void graph(onnx::GraphProto &graph) {
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      visit_(tensor);
    for (onnx::SparseTensorProto &tensor : *graph.mutable_sparse_initializer())
      sparse(tensor);
    nodes(*graph.mutable_node());
  }

  void nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes) {
    for (onnx::NodeProto &node : nodes)
      for (onnx::AttributeProto &value : *node.mutable_attribute())
        attribute(value);
  }

private:
  void attribute(onnx::AttributeProto &attribute) {
    if (attribute.has_t())
      visit_(*attribute.mutable_t());
    if (attribute.has_g())
      graph(*attribute.mutable_g());
    if (attribute.has_sparse_tensor())
      sparse(*attribute.mutable_sparse_tensor());
    for (onnx::TensorProto &tensor : *attribute.mutable_tensors())
      visit_(tensor);
    for (onnx::GraphProto &each : *attribute.mutable_graphs())
      graph(each);
    for (onnx::SparseTensorProto &tensor : *attribute.mutable_sparse_tensors())
      sparse(tensor);
  }

  void sparse(onnx::SparseTensorProto &tensor) {
    if (tensor.has_values())
      visit_(*tensor.mutable_values());
    if (tensor.has_indices())
      visit_(*tensor.mutable_indices());
  }

  const TensorVisitor &visit_;
};

} // namespace

onnx::TensorProto *find_stored(onnx::GraphProto &graph, const std::string &name) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (tensor.name() == name)
      return &tensor;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1 || node.output(0) != name)
      continue;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.name() == "value" && attribute.has_t())
        return attribute.mutable_t();
  }
  return nullptr;
}

void visit_tensors(onnx::ModelProto &model, const TensorVisitor &visit) {
  TensorWalk walk(visit);
  walk.graph(*model.mutable_graph());
  for (onnx::FunctionProto &function : *model.mutable_functions())
    walk.nodes(*function.mutable_node());
  for (onnx::TrainingInfoProto &training : *model.mutable_training_info()) {
    if (training.has_initialization())
      walk.graph(*training.mutable_initialization());
    if (training.has_algorithm())
      walk.graph(*training.mutable_algorithm());
  }
}

void store_data(onnx::TensorProto &tensor, const program::Bytes &data) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(data.data(), data.size());
}

void store(onnx::TensorProto &tensor, const program::HostTensor &value) {
  tensor.set_data_type(traits(value.type).onnx);
  tensor.mutable_dims()->Clear();
  tensor.mutable_dims()->Add(value.shape.begin(), value.shape.end());
  store_data(tensor, value.data);
}

program::HostTensor narrowed(const program::HostTensor &tensor, DType type) {
  program::HostTensor result = program::convert(tensor, type);
  if (tensor.type == type)
    return result;
  const std::int64_t count = program::elems(tensor.shape);
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(program::get(tensor, i)) && !std::isfinite(program::get(result, i)))
      throw Error(ErrorCode::Limit,
                  fmt::format("{} holds {}, more than its type in the model, {}, can hold",
                              tilefuse::quoted(tensor.name), program::get(tensor, i),
                              to_string(type)));
  return result;
}

} // namespace tilefuse::onnx_import
