// SPDX-License-Identifier: Apache-2.0
// Which picture comes when. Everything random in data is a function of seed, epoch and picture:
// there is nothing to store for a run that goes on later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threefry.h"

namespace tilefuse::data {

// What the draws of an epoch are keyed by.
ThreefryWords epoch_key(std::uint64_t seed, std::int64_t epoch);

// Place p of epoch `epoch` has picture [p]: a random order of [0, count).
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

} // namespace tilefuse::data
