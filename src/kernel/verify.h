// SPDX-License-Identifier: Apache-2.0
// Structural rules of the kernel level: types agree, variables are defined before use and once,
// buffers are in range where an index is constant, stores go to written buffers only, barriers
// stand where every work-item arrives (not under an If or in a loop whose bounds depend on `lane`),
// register indices are constant once `unrolled` holds.
#pragma once

#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Aborts with the kernel's text and the broken rule: a kernel is made by us alone. For parsed text
// use check().
void verify(const Kernel &kernel, bool unrolled);
// The broken rule, or empty.
std::string check(const Kernel &kernel, bool unrolled);

} // namespace tilefuse::kernel
