// SPDX-License-Identifier: Apache-2.0
// What parameters are before the first step.
#pragma once

#include <cstdint>

#include "onnx/parameters.h"
#include "program/host_tensor.h"

namespace tilefuse::train {

// Drawn anew: filters of convolutions by He et al. 2015 (normal, deviation sqrt(2/fan_out)), matrices
// uniform in ±1/sqrt(inputs), scales 1, biases and means 0, variances 1. f32, by name and seed.
program::HostTensor draw(const onnx_import::Parameter &parameter, std::uint64_t seed);

} // namespace tilefuse::train
