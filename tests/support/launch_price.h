// SPDX-License-Identifier: Apache-2.0
// What a launch takes by the cost model.
#pragma once

#include "model/plan/launches.h"

namespace tilefuse::model {

double predicted_seconds(const Launch &launch, const std::vector<LaunchPart> &parts,
                         const Target &target);

} // namespace tilefuse::model
