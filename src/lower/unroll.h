// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/nodes.h"

namespace tilefuse::lower {

// Replaces every Unroll loop by its copies. Requires constant bounds; ensures no Unroll loop and
// constant register indices.
kernel::Kernel unroll(const kernel::Kernel &kernel);

} // namespace tilefuse::lower
