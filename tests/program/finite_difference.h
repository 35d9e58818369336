// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences, both in double precision: for random weights of the
// outputs and random directions d of an input, the sum of gradient * d must be the change of the
// weighted output along d.
#pragma once

#include <functional>
#include <random>
#include <string>

#include "program/gradient/gradient.h"
#include "program/reference.h"

namespace tilefuse::program::testing {

// Values of one input.
using Source = std::function<Values(const Tensor &, std::mt19937 &)>;

// In (-2, 2), away from 0.
Values any_values(const Tensor &tensor, std::mt19937 &random);
// In (0.5, 2).
Values positive_values(const Tensor &tensor, std::mt19937 &random);

// Where the gradients of the floating outputs by every floating input are not the slopes of the
// program, with the text of both programs; empty where they are.
std::string gradient_mismatch(const Program &program, const Source &source = any_values,
                              unsigned seed = 1);
void expect_gradients(const Program &program, const Source &source = any_values);

// The gradient of all floating outputs by all floating inputs.
Program gradient_by_inputs(const Program &program, bool keep_outputs = false);

} // namespace tilefuse::program::testing
