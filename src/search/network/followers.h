// SPDX-License-Identifier: Apache-2.0
// Kernels that follow, in its launch, the one whose results they read (launch/following.h): maps by
// one schedule for all, whose indices, where one of them walks as one what nothing that it reads
// keeps apart, are split as the other has them; reductions by the first one's schedule of results.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::search {

// Adds the kernels from `next` on, in order, that can follow those of a launch and are predicted to
// take no longer so than by their own schedules in launches of their own.
// Returns what is behind the last of them.
std::size_t add_followers(launch::Launch &launch, std::span<const launch::Part> kernels,
                          std::size_t next, const Target &target);

// Lets a reduction that reads what the kernel at `begin` stores and what that reads follow it, from
// where nothing between them stands in the way: the winners of a maximum. It leaves the list.
void add_reduction(launch::Launch &launch, std::vector<launch::Part> &kernels, std::size_t begin,
                   const Target &target);

// Whether a class of one statement follows those of a launch, whose first part keeps all
// multiprocessors busy: it is added, with the schedule of results of the first.
bool add_class(launch::Launch &launch, const launch::Part &part, const Target &target);

} // namespace tilefuse::search
