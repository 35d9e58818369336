// SPDX-License-Identifier: Apache-2.0
// Which products of an f32 program are multiplied in 8-bit integers, and which tensors lie in them.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// What is computed and kept in 8-bit integers.
struct QuantizeChoice {
  // By statement: the operand of a product that is its weights, the other one being data; -1: no
  // product in integers.
  std::vector<int> weights;
  // By TensorId: temporaries with an equal number share one scale and lie in i8; -1: f32.
  std::vector<int> group;
  std::vector<std::string> kept; // products that stay in f32, with the reason
};

// Chooses the products of an f32 tensor and a constant whose sums fit 32 bits. Temporaries lie in
// i8 where
// - a chosen product reads them;
// - a view, a copy, a piece of a concatenation or a maximum only moves such values;
// - a map joins several results of products: all of them but the last, whose kernel can compute the
//   map.
// Outputs, statistics and the tensors between them (precision_choice.h) stay f32.
QuantizeChoice choose_quantized(const Program &program);

} // namespace tilefuse::program
