// SPDX-License-Identifier: Apache-2.0
// Constants in the order a kernel's loops read them.
#pragma once

#include <cstddef>
#include <span>

#include "nest/nest.h"
#include "program/program.h"
#include "schedule/members.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

// Input `input` of the nest, whose slot holds `from` (elements of the slot's type), in
// schedule::pack_layout order as elements of the accumulator type. Elements past an index's extent
// are 0.
program::Bytes pack(const nest::Nest &nest, const schedule::Schedule &schedule, int input,
                    std::span<const std::byte> from);
// The same for a packed argument of a group's kernel.
program::Bytes pack(const poly::Group &group, const schedule::Schedule &schedule,
                    const schedule::KernelArg &arg, std::span<const std::byte> from);

} // namespace tilefuse::model
