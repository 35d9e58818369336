// SPDX-License-Identifier: Apache-2.0
// Launches that nothing waits for soon, such as a filter's gradient in a backward pass: they run beside
// the launches behind them (runtime/timeline.h), so that a chain of short kernels, none of which fills
// a device, is no longer than what really follows from each other.
//
//   12 parts of a filter's gradient   aside, before 32
//   13 their join                     aside, before 32
//   14 input gradient
//   …
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "launch/launch.h"

namespace tilefuse::search {

// Of each launch the number of the one before which it has ended, where it runs aside; that of all
// where nobody needs it. These numbers do not decrease, as asides end in order, and none is far off:
// what an aside reads and writes must be kept until then.
std::vector<std::optional<std::size_t>>
choose_asides(const std::vector<const launch::Launch *> &launches);

} // namespace tilefuse::search
