// SPDX-License-Identifier: Apache-2.0
// What each kernel of a run takes by the device's clock.
#pragma once

#include <vector>

#include "model/execution.h"
#include "model/resident.h"
#include "model/session_stats.h"

namespace tilefuse::model {

// Of `passes` runs, that of median length; kernels in launch order.
std::vector<KernelReport> profile(const Resident &resident, Execution &execution, int passes);

} // namespace tilefuse::model
