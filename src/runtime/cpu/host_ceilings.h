// SPDX-License-Identifier: Apache-2.0
// This machine's processor timed: multiply-adds that wait for nothing, and vectors read and
// written back in place, in the working set of each cache and beyond all of them. Loops are written
// out as instructions, so that how this program was compiled does not matter.
#pragma once

#include <cstdint>
#include <optional>

#include "target/ceilings.h"

namespace tilefuse::runtime {

// Of `threads` threads at once with vectors of at most `lanes` f32, in about a fifth of a second; the
// best of several rounds. None where the instructions are not this processor's.
std::optional<Ceilings> host_ceilings(int threads, int lanes = 16);

// Of the cache that sysconf() calls `name`, or what is given where the system does not say.
std::int64_t cache_bytes(int name, std::int64_t otherwise);

} // namespace tilefuse::runtime
