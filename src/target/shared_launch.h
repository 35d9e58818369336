// SPDX-License-Identifier: Apache-2.0
// Which kernels the threads of a processor share: the cpu device deals out the blocks of those that
// have work for it, and the cost model prices the others on one core.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace tilefuse {

// Seconds that one thread is taken to need at most for `flops` operations on `bytes` of tensors.
double one_thread_seconds(double flops, double bytes, const Target &target);
// Whether so much work is dealt out; never where a damaged package says that it is no number.
bool is_shared(double seconds);
// Blocks that a thread is handed at once: long enough to cover the cost of handing out, short
// enough for four runs per thread.
std::int64_t blocks_at_once(std::int64_t blocks, double seconds, int threads);

} // namespace tilefuse
