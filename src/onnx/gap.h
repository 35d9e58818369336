// SPDX-License-Identifier: Apache-2.0
// What a node, or a tensor, of a model needs and we lack.
#pragma once

#include <string>

namespace tilefuse::onnx_import {

struct Gap {
  std::string name; // the node's, or of its first result where it has none
  std::string why;  // "operator 'Loop' of opset 13"
};

} // namespace tilefuse::onnx_import
