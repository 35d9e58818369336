// SPDX-License-Identifier: Apache-2.0
// Storage in another floating-point type: the program of an f32 model whose weights and activations
// lie in f16 or bf16. Only what lies in memory changes type: every expression keeps computing in
// f32, and sums of products in the type that holds them (f32).
//
// In f32 stay: inputs and outputs; vectors that maps read, such as biases; results of sums and
// products of one operand (means, variances, the divisor of a softmax), and what a normalisation
// computes between its statistics (x - max, exp, squares); what is small beside its neighbours
// (sums of products over much, vectors, coefficients) and no sum of products reads; weights that the
// type cannot hold.
// Inputs that sums of products read are converted by a map of origin "precision", outputs that are
// also read inside too. Views, slices of concatenations and what they are slices of agree.
//
//   input %0 "x" : f32[1, 3, 8, 8]
//   %4 "x" : f16[1, 3, 8, 8] = map[%0](f16($0)) from "precision"
//   %2 "t" : f16[1, 4, 8, 8] = sum[n, m, y, x, c](%4[n, c, y, x] * %5[m, c]) -> [n, m, y, x]
//   %3 "relu" : f32[1, 4, 8, 8] = map[%2](max(f32($0), 0))
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Precision {
  Program program;
  DType type = DType::F16;
  int weights = 0;     // constants stored in `type`
  int activations = 0; // temporaries stored in `type`
  int casts = 0;       // conversions at the boundary
  std::int64_t weight_bytes = 0;
  std::int64_t f32_weight_bytes = 0; // of the same weights before
  std::vector<std::string> kept;     // "Softmax_45: f32[1, 1000], between statistics", by statement
};

// f32 becomes `type`, f16 or bf16, other types stay. Constants must carry their data. Ensures: same
// inputs and outputs, in name, type and shape.
Precision with_precision(Program program, DType type);

// One line: how much is stored in the type and what is not.
std::string summary(const Precision &precision);
// The summary, and a line for each tensor that stays in f32, with the reason.
std::string to_text(const Precision &precision);

} // namespace tilefuse::program
