// SPDX-License-Identifier: Apache-2.0
// Products as several operators need them, whatever the type of their operands.
#pragma once

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// The convolution of a node with attributes auto_pad, dilations, group, kernel_shape, pads and
// strides: input [N, C, spatial…], filter [M, C/group, spatial…] -> [N, M, spatial…]. Error{Shape}
// where they do not match.
Value convolve(const Call &call, const Value &input, const Value &filter);
// Adds bias [M] to a convolution's result.
Value add_bias(const Call &call, const Value &result, const Value &bias);
// The matrix product by NumPy's rules for operands of rank 1 and more.
Value multiply(const Call &call, Value a, Value b);

} // namespace tilefuse::onnx_import
