// SPDX-License-Identifier: Apache-2.0
// Convolutions unlike ResNet-50's: odd channel counts, groups, large and dilated windows, one and
// three dimensions, few channels. bench/odd_layers.py has the same list.
#pragma once

#include <vector>

#include "gpu_work.h"

namespace tilefuse::bench {

// Of f16, batch 1: to be changed.
std::vector<ConvProblem> odd_problems();

} // namespace tilefuse::bench
