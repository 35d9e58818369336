// SPDX-License-Identifier: Apache-2.0
// Nodes that multiply data by stored weights: Conv, ConvTranspose, Gemm and MatMul.
#pragma once

#include <cstddef>
#include <optional>

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

// Among a product's operands.
constexpr int kWeights = 1;
constexpr int kBias = 2; // of those that have one

// Its first result has a name that no other node has; names of nodes may be empty, and double.
bool is_product(const onnx::NodeProto &node);
// The stored weights, of f32 and at least two dimensions; null where there are none.
const onnx::TensorProto *weights_of(const onnx::NodeProto &node, onnx::GraphProto &graph);
// The dimension of weights that is one of the results; nothing where it is part of one.
std::optional<std::size_t> channel_axis(const onnx::NodeProto &node, std::size_t rank);
// Whether a bias would be added to the products as they are: no Gemm with factors.
bool adds_plain_bias(const onnx::NodeProto &node);

} // namespace tilefuse::onnx_import
