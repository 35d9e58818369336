// SPDX-License-Identifier: Apache-2.0
// The kernel's global buffers, in argument order.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// Fills slot_buffers and source_buffers.
void declare_arguments(Context &cx);
// Of the global buffers, each once.
double bytes_moved(const kernel::Kernel &kernel);

} // namespace tilefuse::lower
