// SPDX-License-Identifier: Apache-2.0
// Numbers that parameters begin with. They are drawn by the parameter's name and a seed, by arithmetic of whole numbers
// alone: the same on every machine, and whatever other parameters a model has.
#pragma once

#include <cstdint>
#include <string>

#include "program/host_tensor.h"

namespace tilefuse::onnx_import {

// f32 in [-bound, bound). PyTorch's Linear and Conv2d begin so, weights and biases, with bound 1/sqrt(fan_in).
program::HostTensor draw_uniform(const std::string &name, const program::Shape &shape, double bound,
                                 std::uint64_t seed);

// f32, normal with a standard deviation; nothing lies beyond 6 of them (the sum of 12 uniform numbers, Irwin-Hall).
// He et al. 2015 take sqrt(2/fan_out) or sqrt(2/fan_in).
program::HostTensor draw_normal(const std::string &name, const program::Shape &shape,
                                double deviation, std::uint64_t seed);

// f32, all alike.
program::HostTensor filled(const std::string &name, const program::Shape &shape, double value);

} // namespace tilefuse::onnx_import
