// SPDX-License-Identifier: Apache-2.0
// Gradients of maxima and minima.
#pragma once

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// Contributes to the operands, given the gradient of the result.
void differentiate_extremum(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                            TensorId gradient);

} // namespace tilefuse::program
