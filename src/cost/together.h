// SPDX-License-Identifier: Apache-2.0
// Time of nests that are one launch and run at the same time, such as the classes of a strided
// input gradient: what keeps multiprocessors busy adds up, an input that several read comes from
// memory once, and constants cost what their bytes do.
#pragma once

#include <vector>

#include "cost/model.h"

namespace tilefuse::cost {

// Of the classes, each under its schedule with wgmma, and of nests that store constants beside
// their results.
double predict_together(const std::vector<const nest::Nest *> &classes,
                        const std::vector<const schedule::Schedule *> &schedules,
                        const std::vector<const nest::Nest *> &constants, const Target &target);

} // namespace tilefuse::cost
