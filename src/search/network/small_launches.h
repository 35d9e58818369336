// SPDX-License-Identifier: Apache-2.0
// Small maps and reductions that share a launch: where a launch costs more than what a kernel does, those that
// follow each other and do not depend on each other run side by side, such as the coefficients of
// a normalisation in training.
#pragma once

#include <cstddef>
#include <vector>

#include "launch/launch.h"
#include "search/network/launch_schedules.h"
#include "target/target.h"

namespace tilefuse::search {

// Positions of small kernels behind `begin`, in order, that can run beside it in its launch, before
// all that stands between; none where kernels[begin] is not small itself. What is small is
// predicted to take a few launches' time. Those that are found have as many work-items in a block as
// the first, by a schedule that `pick` knows where their own has others.
std::vector<std::size_t> beside_small(std::vector<launch::Part> &kernels, std::size_t begin,
                                      const Target &target, const PickOfSize &pick);

} // namespace tilefuse::search
