// SPDX-License-Identifier: Apache-2.0
// A classifier's last layer made anew for another number of classes, in the model itself, before it is imported. The
// last Gemm, MatMul or Conv before the output gets new weights and a new bias, drawn as PyTorch's layers begin
// (initial.h); an Add of a bias and a BatchNormalization behind it are made anew too. Behind them may lie what works for any
// number of classes (Softmax, activations, pooling, Flatten …).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::onnx_import {

struct Head {
  std::string model; // the bytes of the changed model; data beside it lie where they lay
  std::vector<std::string> renewed; // names of the tensors that are new
  std::int64_t classes_before = 0;
};

// Error{Unsupported} says what stands in the way: several outputs, a node behind the last layer that fixes the number of
// classes, weights that are shared, computed or quantised, groups.
Head replace_head(const std::string &path, std::int64_t classes, std::uint64_t seed);

} // namespace tilefuse::onnx_import
