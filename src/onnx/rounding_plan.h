// SPDX-License-Identifier: Apache-2.0
// Which values of an f32 model are rounded to 8-bit integers (quantize.h), by name.
//
// Products of data and stored weights (Conv, ConvTranspose, Gemm, MatMul) read rounded data. So do,
// backwards from there, Add, Sum and average pools, and what only moves values (pools by maximum,
// views, concatenations …), whose operands and results share a scale. Other operators stay between,
// in f32.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace tilefuse::onnx_import {

struct RoundingPlan {
  std::vector<std::string> products;   // nodes, by first result, in order
  std::vector<std::string> kept;       // products that stay in f32, likewise, with the reason
  std::vector<std::string> values;     // whose ranges quantize() needs
  std::map<std::string, int> scale_of; // the scale of each value that is rounded, by number
};

// `keep`: products that stay in f32, by node or first result. Error{Unsupported} where the model is quantised already, has no
// product, or has none of a name in `keep`.
RoundingPlan plan_rounding(onnx::ModelProto &model, const std::set<std::string> &keep);

} // namespace tilefuse::onnx_import
