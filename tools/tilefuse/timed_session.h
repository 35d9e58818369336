// SPDX-License-Identifier: Apache-2.0
// How `bench` and `explain` time a session.
#pragma once

#include <cstdint>
#include <vector>

#include "model/session.h"
#include "report/timing.h"

namespace tilefuse::tool {

constexpr int kMostProfiled = 9; // runs whose kernels are timed

// The same random numbers each time.
std::vector<program::HostTensor> random_inputs(const model::Session &session);
// Places of the first dimension of the first input.
std::int64_t batch_of(const model::Session &session);
// `repeat` runs on these inputs, some others before them. Shows progress.
report::Timing time_runs(model::Session &session, const std::vector<program::HostTensor> &inputs,
                         int repeat);

} // namespace tilefuse::tool
