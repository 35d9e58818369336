// SPDX-License-Identifier: Apache-2.0
#include "target/async_copies.h"

#include "target/tickets.h"

namespace tilefuse {

constexpr int kFirst = 80;

bool has_async_copies(const Target &target) { return nvidia_generation(target) >= kFirst; }

} // namespace tilefuse
