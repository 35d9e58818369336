// SPDX-License-Identifier: Apache-2.0
// Gradients of sums, and of contractions that assign: to the operands, not to the init.
#pragma once

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// Contributes to the operands, given the gradient of the result.
void differentiate_sum(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                       TensorId gradient);

} // namespace tilefuse::program
