// SPDX-License-Identifier: Apache-2.0
// launch + target → kernel: each part lowered once, and put together.
#pragma once

#include "kernel/nodes.h"
#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::lower {

// Requires a legal launch (launch::illegal gives nothing); aborts otherwise. The kernel's arguments
// are those of launch::arguments, in order.
kernel::Kernel lower_launch(const launch::Launch &launch, const Target &target);

} // namespace tilefuse::lower
