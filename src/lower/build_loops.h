// SPDX-License-Identifier: Apache-2.0
// First pass of lowering: the loops, staging and register tiles of one block, with Unroll loops over register copies.
//
// The block's number is taken apart into grid positions, staged inputs are filled, then the serial loops walk the
// block in steps. The partial last step of an index has a body of its own with the exact size, chosen by a branch that
// is the same for the whole block, so full steps carry no predicate.
#pragma once

#include "kernel/nodes.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

kernel::Kernel build_loops(const poly::Group& group, const schedule::Schedule& schedule,
                           const Target& target);

}  // namespace tilefuse::lower
