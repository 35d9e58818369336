// SPDX-License-Identifier: Apache-2.0
// First pass of lowering: the loops, staging and register tiles of one block, with Unroll loops
// over register copies.
//
// The block's number is taken apart into grid positions, inputs that are staged per block are
// filled, then the serial loops walk the block in steps. With vector lanes the partial last step of
// an index has a body of its own with the exact size, chosen by a branch that is the same for the
// whole block, so full steps carry no predicate. Work-items share one body, whose loads and stores
// carry predicates where an extent is not a multiple of the step: barriers stay outside branches.
#pragma once

#include "kernel/nodes.h"
#include "lower/context.h"
#include "lower/members.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

// Fills what is staged once and walks the tile at cx.start + cx.origin.
StmtRef tile_loops(Context &cx);

// `fill_produced` fills what producers compute (lower/simt/fill_produce.h, which calls tile_loops).
kernel::Kernel build_loops(const poly::Group &group, const schedule::Schedule &schedule,
                           const Target &target, FillProduced fill_produced);

} // namespace tilefuse::lower
