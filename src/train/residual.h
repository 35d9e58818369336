// SPDX-License-Identifier: Apache-2.0
// The residual branches of a network, which stochastic depth leaves out (data/drop_path.h): of each
// sum of two pictures' tensors of one shape [N, C, H, W] the one with more statements behind it.
//
//   a = conv(relu(conv(x)));  y = a + x                 a is the branch
//   a = conv(relu(conv(x)));  b = conv(x);  y = a + b   likewise
//
// Sums of tensors with as many statements behind them are none.
#pragma once

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace tilefuse::train {

struct Branch {
  std::size_t statement = 0; // the sum
  std::size_t operand = 0;   // of the sum, the branch
};

// In the program's order; `pictures` is the input that all are computed of.
std::vector<Branch> residual_branches(const program::Program &program, program::TensorId pictures);

} // namespace tilefuse::train
