// SPDX-License-Identifier: Apache-2.0
// Weights that nodes compute of stored tensors alone, as standardised ones (ResNetV2, NFNet), are
// stored themselves: what is quantised then are the numbers that are multiplied.
//
//   w = Mul(BatchNormalization(Reshape(v), …), gain)        y = Conv(x, w), w stored
//   y = Conv(x, w)
#pragma once

#include "onnx/reader.h"
#include "tile/tile.h"

namespace tilefuse::onnx_import {

// Weights and biases of products (products.h). Quantised ones stay as they are, and all do where a
// node that computes one is not supported.
void fold_weights(ModelFile &file, const tile::Library &ops);

} // namespace tilefuse::onnx_import
