// SPDX-License-Identifier: Apache-2.0
// What each kernel of a run takes: by the device's clock, or where nothing runs, by the cost model.
#pragma once

#include <vector>

#include "model/execution.h"
#include "model/resident.h"
#include "model/session_stats.h"
#include "target/ceilings.h"

namespace tilefuse::model {

struct Profile {
  std::vector<KernelReport> kernels; // a launch each, in order
  Ceilings ceilings;                 // that their rooflines are of
  bool is_measured = false;
};

// Of `passes` runs, that of median length.
Profile profile(const Resident &resident, Execution &execution, int passes);
// Of launches that need not be built, one behind the other, and ceilings as the target states them.
Profile predicted_profile(const Compiled &compiled, const Target &target);

} // namespace tilefuse::model
