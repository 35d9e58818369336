// SPDX-License-Identifier: Apache-2.0
// What of a model can be trained: float initializers that layers read as filters, matrices, biases,
// scales or slopes, as they stand or behind nodes that move their numbers (a matrix that PyTorch
// exports behind a Transpose, a table of positions behind a Gather), and the running statistics of
// batch normalisations. Others (sizes, scales of quantisation, constants of arithmetic) are none.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "target/dtype.h"

namespace onnx {
class GraphProto;
}

namespace tilefuse::onnx_import {

enum class ParameterKind {
  Weight,   // of a convolution, a Gemm, a MatMul
  Bias,     // added to what such a layer makes
  Scale,    // multiplies per channel: of a normalisation, the slope of a PRelu
  Mean,     // running, of a BatchNormalization
  Variance, // running, of a BatchNormalization
};

inline bool is_statistic(ParameterKind kind) {
  return kind == ParameterKind::Mean || kind == ParameterKind::Variance;
}

struct Parameter {
  std::string name; // of the initializer
  ParameterKind kind = ParameterKind::Weight;
  DType type = DType::F32;
  program::Shape shape;
  int layer = 0;              // layers begin with nodes that have weights, counted from 0
  bool is_transposed = false; // of a matrix: [outputs, inputs], as a Gemm with transB reads it
  double keep = 0.9; // of a statistic: the share of the old value that stays (ONNX "momentum")
};

// Where a node reads one.
struct ParameterUse {
  int node = 0;
  int input = 0;
  ParameterKind kind = ParameterKind::Weight;
  std::string name;           // of the initializer, of any type
  bool is_moved = false;      // between it and the node stand others than Identity
  bool is_transposed = false; // by an odd number of Transpose nodes and of transB
};

// In the order of nodes.
std::vector<ParameterUse> parameter_uses(const onnx::GraphProto &graph);

// Each once, in the order in which nodes first read them.
std::vector<Parameter> parameters(const onnx::GraphProto &graph);

// Float initializers of more than one number that are none of these, such as a class token, in the
// order of the file.
std::vector<Parameter> left_as_they_are(const onnx::GraphProto &graph);

// Whether its numbers are quantised: it has nodes that compute in, or convert to, integers by scales.
bool is_quantized(const onnx::GraphProto &graph);

// The least opset that has the QuantizeLinear and DequantizeLinear of the default domain that it has:
// 13 where their scales lie along an axis, else 10; 1 where it has none, or only those of others.
std::int64_t quantized_since(const onnx::GraphProto &graph);

// The tensor that the loss of a classifier is computed of: the input of the Softmax or LogSoftmax
// that makes the graph's first output, else that output.
std::string logits_name(const onnx::GraphProto &graph);

} // namespace tilefuse::onnx_import
