// SPDX-License-Identifier: Apache-2.0
// Faults of lowered kernels. Each gives nothing where the kernel has no place for it.
#pragma once

#include <optional>

#include "kernel/nodes.h"

namespace tilefuse::fuzz {

std::optional<kernel::Kernel> drop_barriers(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> drop_load_predicates(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> drop_store_predicates(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> drop_resets(const kernel::Kernel &kernel); // of accumulators
std::optional<kernel::Kernel> wrong_fill(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> widen_tails(const kernel::Kernel &kernel); // valid + 1
// The first body of every branch that has two.
std::optional<kernel::Kernel> drop_partial_steps(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> swizzle_local_reads(const kernel::Kernel &kernel); // index ^ 1
std::optional<kernel::Kernel> reverse_lanes(const kernel::Kernel &kernel);       // of stores
std::optional<kernel::Kernel> double_lane_stride(const kernel::Kernel &kernel);  // of loads
std::optional<kernel::Kernel> shorten_loops(const kernel::Kernel &kernel);
// Of lanes of a reduced index: they are not combined; barriers between the rounds are left out.
std::optional<kernel::Kernel> drop_lane_rounds(const kernel::Kernel &kernel);
std::optional<kernel::Kernel> join_lane_rounds(const kernel::Kernel &kernel);
// Of kernels with matrix instructions.
std::optional<kernel::Kernel> wait_too_little(const kernel::Kernel &kernel); // one group fewer
std::optional<kernel::Kernel> copy_unchecked(const kernel::Kernel &kernel);  // without `valid`
std::optional<kernel::Kernel> turn_fragments(const kernel::Kernel &kernel);  // the other way
std::optional<kernel::Kernel> shift_fragments(const kernel::Kernel &kernel); // to the next chunk

} // namespace tilefuse::fuzz
