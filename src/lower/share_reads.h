// SPDX-License-Identifier: Apache-2.0
// Neighbouring outputs of a window read the same elements. Compilers of kernels merge equal reads,
// but none that stand under conditions of their own, as at the edge of an image:
//
//   let v_2 = b0[p + 64] valid (x + 1 < 14 ? 2 : 0)        of the pixel before
//   …
//   let v_9 = b0[p + 64] valid (x + 1 < 14 ? 2 : 0)        dropped: v_2 is read in its place
#pragma once

#include "kernel/nodes.h"

namespace tilefuse::lower {

// Drops a `let` that reads under a condition what an earlier one in scope has read, of memory that
// the kernel does not write. Requires a kernel without Unroll loops. Of no use on processors, where
// conditions are masks, which compilers see through.
kernel::Kernel share_reads(const kernel::Kernel &kernel);

} // namespace tilefuse::lower
