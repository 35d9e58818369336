// SPDX-License-Identifier: Apache-2.0
// Quantised operators that onnxruntime's quantiser writes beside those of the standard (domain
// com.microsoft) are operators of the standard between DequantizeLinear and QuantizeLinear:
//
//   y = QLinearAdd(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
// becomes
//   y/a = DequantizeLinear(a, a_scale, a_zero)
//   y/b = DequantizeLinear(b, b_scale, b_zero)
//   y/f = Add(y/a, y/b)
//   y   = QuantizeLinear(y/f, y_scale, y_zero)
#pragma once

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

// Puts such nodes of the graph in the place of QLinearAdd, QLinearAveragePool, QLinearConcat,
// QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul, QLinearSigmoid, QLinearSoftmax and QGemm.
// Others, and channels that lie last, stay to be refused.
void expand_quantized_nodes(onnx::ModelProto &model);

} // namespace tilefuse::onnx_import
