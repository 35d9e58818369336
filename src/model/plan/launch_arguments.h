// SPDX-License-Identifier: Apache-2.0
// Arguments of a launch: those of its kernels, each buffer once.
#pragma once

#include <vector>

#include "model/plan/launch.h"

namespace tilefuse::model {

// Fills `args` and `arguments`: arguments of several kernels that are one buffer are one argument.
void number_arguments(Launch &launch, const std::vector<LaunchPart> &parts);

} // namespace tilefuse::model
