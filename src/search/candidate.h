// SPDX-License-Identifier: Apache-2.0
// A schedule and the time that the cost model gives it.
#pragma once

#include "cost/estimate.h"
#include "schedule/schedule.h"

namespace tilefuse::search {

struct Candidate {
  schedule::Schedule schedule;
  cost::Estimate estimate;
};

} // namespace tilefuse::search
