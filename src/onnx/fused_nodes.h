// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that onnxruntime's optimiser makes of several of the standard, as files that it has
// written hold them: here they become these again.
//
//   FusedConv(x, w, b), activation "Relu"    ->  Conv(x, w, b), Relu
#pragma once

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

// Those of the table in fused_nodes.cpp; others stay.
void expand_fused_nodes(onnx::ModelProto &model);

} // namespace tilefuse::onnx_import
