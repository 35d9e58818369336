// SPDX-License-Identifier: Apache-2.0
// Gradients of contractions of any aggregate, and of what their init keeps.
#pragma once

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// Contributes to what the statement reads, given the gradient of its result.
void differentiate(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                   TensorId gradient);

} // namespace tilefuse::program
