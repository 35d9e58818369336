// SPDX-License-Identifier: Apache-2.0
// Batch normalisations behind products of stored weights become part of these: what is quantised
// then are the numbers that are multiplied, and a rounding follows the product itself.
//
//   t = Conv(x, w, b)                                       y = Conv(x, w * k, (b - mean) * k + B)
//   y = BatchNormalization(t, scale, B, mean, variance)     k = scale / sqrt(variance + epsilon)
#pragma once

#include "onnx/reader.h"

namespace tilefuse::onnx_import {

// Where the product's result is read by nothing else, all numbers are stored in f32, and the
// normalisation takes the stored mean and variance (no training_mode).
void fold_norms(ModelFile &file);

} // namespace tilefuse::onnx_import
