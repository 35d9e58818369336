// SPDX-License-Identifier: Apache-2.0
// Less memory for more time: what would wait in memory for a late reader is computed again in front
// of it, by the same kernel, so that no bit changes.
//
//   launch 8     z = max(a*y + b, 0)      205 MB, read by launches 9 and 668: alive from 8 to 668
//
//   launch 8     z = max(a*y + b, 0)      alive from 8 to 9
//   launch 668   z' = max(a*y + b, 0)     alive from 668 to 669
//   launch 669   reads z'
//
// While more is alive at the fullest launch than may be, the tensor alive there whose repetition
// takes the least predicted time for each byte that it frees is repeated in front of its first
// reader behind that launch. What the repetition reads and is gone by then is kept alive for it, at
// the expense of what it frees, or is itself a repetition further on, which is moved in front of it.
// Every tensor is repeated once at most. (Chen et al. 2016, "Training deep nets with sublinear
// memory cost", with a model's times in place of segments.)
#pragma once

#include <cstdint>
#include <functional>

#include "model/compiled.h"
#include "runtime/device.h"

namespace tilefuse::model {

// Repeats launches until buffers that share memory need `most_bytes` of it at most; says of each in
// its notes what it frees and takes, and of every tensor that waits why it is repeated or kept.
// `finish` is called whenever launches have changed, before what they need is planned: it may say
// which run aside. Requires `most_bytes` > 0. Error{Limit} where no more can be repeated: what is
// needed at least.
void fit_arena(Compiled &compiled, const runtime::Device &device, std::int64_t most_bytes,
               const std::function<void(Compiled &)> &finish);

} // namespace tilefuse::model
