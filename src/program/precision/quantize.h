// SPDX-License-Identifier: Apache-2.0
// An f32 program with its products in 8-bit integers: data and weights are rounded to multiples of
// a scale, symmetric around 0, one scale per tensor of data (from a calibration: the largest
// magnitude seen becomes 127) and one per channel of weights. Sums are exact in 32 bits, results
// are scaled in f32 by what follows the sum, which rounds them again where the next product reads
// them.
//
//   %4 "t" : f32[1, 4, 8] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x]
//   %5 "r" : f32[1, 4, 8] = map[%4, %2](max($0 + $1, 0))
// becomes
//   %8 : i8[1, 3, 8] = map[%0](i8(max(min(round($0 * 25.4), 127), -127)))
//   %9 : i32[1, 4, 8] = sum[n, m, x, c](%8[n, c, x] * %7[m, c]) -> [n, m, x]
//   %4 "t" : f32[1, 4, 8] = map[%9, %10](f32($0) * $1)
//   %5 "r" : i8[1, 4, 8] = map[%4, %2](i8(max(min(round(max($0 + $1, 0) * 12.7), 127), -127)))
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Quantized {
  Program program;
  int products = 0;    // in integers
  int activations = 0; // temporaries that lie in i8
  std::int64_t weight_bytes = 0;
  std::int64_t f32_weight_bytes = 0; // of the same weights before
  std::vector<std::string> kept;     // products that stay in f32, with the reason
};

// Inputs and temporaries of an f32 program whose largest magnitude `quantized` needs.
std::vector<TensorId> tensors_to_calibrate(const Program &program);

// `largest`: magnitudes by TensorId, of the tensors above. Constants must carry their data.
// Ensures: same inputs and outputs, in name, type and shape.
Quantized quantized(const Program &program, const std::vector<double> &largest);

// One line: how much is computed in integers and what is not.
std::string summary(const Quantized &quantized);
// The summary, and a line for each product that stays in f32.
std::string to_text(const Quantized &quantized);

} // namespace tilefuse::program
