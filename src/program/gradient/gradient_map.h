// SPDX-License-Identifier: Apache-2.0
// Gradients of maps and views.
#pragma once

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// Contributes to what the statement reads, given the gradient of its result.
void differentiate(GradientBuilder &builder, TensorId out, const Map &map, TensorId gradient);
void differentiate(GradientBuilder &builder, TensorId out, const View &view, TensorId gradient);

} // namespace tilefuse::program
