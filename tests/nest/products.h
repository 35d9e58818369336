// SPDX-License-Identifier: Apache-2.0
// Convolutions with windows of one point and their filter gradients: matrix products in float32,
// channels last.
#pragma once

#include <fmt/format.h>

#include "nest/nest.h"

namespace tilefuse::testing {

// Constant weights [m, c] on pixels [x, c].
inline nest::Nest convolution_1x1(int features, int pixels, int channels) {
  return nest::parse_nest(fmt::format("nest gemm {{\n  index m {0}, x {1} | c {2}\n"
                                      "  slot 0 f32 {3}, 1 f32 {4}, 2 f32 {5}\n"
                                      "  acc f32 = sum mul\n  in 0 + 0 [x:{1}*{2}, c:{2}*1]\n"
                                      "  in 1 + 0 const [m:{0}*{2}, c:{2}*1]\n"
                                      "  out 2 + 0 [x:{1}*{0}, m:{0}*1]\n  post acc\n}}\n",
                                      features, pixels, channels, pixels * channels,
                                      features * channels, pixels * features));
}

// The gradient [c, m], a sum over pixels p.
inline nest::Nest filter_gradient_1x1(int channels, int features, int pixels) {
  return nest::parse_nest(fmt::format("nest gemm {{\n  index c {0}, m {1} | p {2}\n"
                                      "  slot 0 f32 {3}, 1 f32 {4}, 2 f32 {5}\n"
                                      "  acc f32 = sum mul\n  in 0 + 0 [p:{2}*{0}, c:{0}*1]\n"
                                      "  in 1 + 0 [p:{2}*{1}, m:{1}*1]\n"
                                      "  out 2 + 0 [c:{0}*{1}, m:{1}*1]\n  post acc\n}}\n",
                                      channels, features, pixels, pixels * channels,
                                      pixels * features, channels * features));
}

} // namespace tilefuse::testing
