// SPDX-License-Identifier: Apache-2.0
// Tensors that a model stores, to be changed in place: initializers, and the values of Constant nodes.
#pragma once

#include <functional>
#include <string>

#include "onnx.pb.h"
#include "program/host_tensor.h"

namespace tilefuse::onnx_import {

// The tensor that a name of the graph stands for; null when nothing is stored under it.
onnx::TensorProto *find_stored(onnx::GraphProto &graph, const std::string &name);

// Calls `visit` for all tensors that a model holds, those in attributes, subgraphs and functions too.
using TensorVisitor = std::function<void(onnx::TensorProto &)>;
void visit_tensors(onnx::ModelProto &model, const TensorVisitor &visit);

// Gives a stored tensor other elements, as raw bytes: of its own type, or of another type and shape.
void store_data(onnx::TensorProto &tensor, const program::Bytes &data);
void store(onnx::TensorProto &tensor, const program::HostTensor &value);

// A tensor in another floating type. Error{Limit} when a finite number has no place in it.
program::HostTensor narrowed(const program::HostTensor &tensor, DType type);

} // namespace tilefuse::onnx_import
