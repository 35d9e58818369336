// SPDX-License-Identifier: Apache-2.0
// The error function for readers with the digits of half precision: 1 - 2^(t * p(t)) of t = |x|
// with the sign of x, and the series of erf near 0. p is a weighted minimax fit (Lawson 1961) of
// log2(erfc(t)) / t on [0.03, 4]; its leading coefficient is negative, so that the power is 0 behind
// 4 and at infinity, and NaN stays NaN. Errors: 2^-20 of erf and, but for f32's rounding of 1 - 2^y,
// 2^-21 of 1 - |erf|, both within program::kCoarseError (tests/emit/coarse_math_test.cpp).
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tilefuse::emit {

// p, from the constant on.
inline constexpr std::array<float, 8> kLogErfc = {
    -1.6279094219207764f,    -0.9183821082115173f,    -0.14873023331165314f,
    0.028906332328915596f,   -0.0015787935117259622f, -0.0009855622192844748f,
    0.00029035660554654896f, -2.6775698643177748e-05f};
inline constexpr float kNearZero = 0.04f; // the series below it: x * (kSlope - kCubic * x^2)
inline constexpr float kSlope = 1.128379167f;
inline constexpr float kCubic = 0.376126389f;

// The body of a function of x in C, of one value or of a vector whose conditions choose by lanes.
// `type` is that of x, `exp2` the name of the power of 2, `mad` a product and sum of {0}, {1}, {2}.
std::string coarse_erf(std::string_view type, std::string_view exp2, std::string_view mad);

} // namespace tilefuse::emit
