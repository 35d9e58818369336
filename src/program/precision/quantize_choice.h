// SPDX-License-Identifier: Apache-2.0
// Which products of an f32 program are multiplied in 8-bit integers, and which tensors lie in them.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct QuantizeChoice {
  // By statement: which operand of a product is its weights, the other one being data; -1: no
  // product in integers.
  std::vector<int> weights;
  // By TensorId: temporaries with an equal number share one scale and lie in i8; -1: f32.
  std::vector<int> group;
  std::vector<std::string> kept; // products that stay in f32, with the reason
};

// Products of an f32 tensor and a constant whose sums fit 32 bits are chosen; what they read lies
// in i8, and so does what only moves such values: views, copies, pieces of concatenations, maxima;
// and of the results that a map joins, all but the one its kernel can compute.
// Outputs, statistics and what lies between them (precision_choice.h) stay f32.
QuantizeChoice choose_quantized(const Program &program);

} // namespace tilefuse::program
