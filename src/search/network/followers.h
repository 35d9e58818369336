// SPDX-License-Identifier: Apache-2.0
// Maps that follow, in its launch, the one whose results they read (launch/following.h), by one
// schedule for all. Indices that one of them walks as one, since nothing that it reads lies otherwise,
// are split as the other has them.
#pragma once

#include <cstddef>
#include <span>

#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::search {

// Adds the kernels from `next` on, in order, that can follow those of a launch and are predicted to
// take no longer so than by their own schedules in launches of their own.
// Returns what is behind the last of them.
std::size_t add_followers(launch::Launch &launch, std::span<const launch::Part> kernels,
                          std::size_t next, const Target &target);

} // namespace tilefuse::search
