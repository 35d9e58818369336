// SPDX-License-Identifier: Apache-2.0
// What a launch takes by the cost model.
#pragma once

#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::model {

// Predicted seconds of a launch, alone on the device.
double predicted_seconds(const launch::Launch &launch, const Target &target);

} // namespace tilefuse::model
