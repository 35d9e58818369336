// SPDX-License-Identifier: Apache-2.0
// group + schedule + target → kernel. Lowering decides nothing that a schedule says; what it still
// decides by itself stands in ARCHITECTURE.md.
// All passes stand in one table in pipeline.cpp, in the one order in which they run; each is
// verified after it ran.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/nodes.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

// What a caller wants to see of the passes. Called after each pass with its number, name and
// result.
using Observer = std::function<void(int, std::string_view, const kernel::Kernel &)>;

// Requires a legal schedule (schedule::illegal gives nothing); aborts otherwise. Same input, same
// kernel.
kernel::Kernel lower(const poly::Group &group, const schedule::Schedule &schedule,
                     const Target &target, const Observer &observer = {});

// A kernel with what those need to know who put it beside others in a launch (lower/launch).
struct Lowered {
  kernel::Kernel kernel;
  std::optional<kernel::BufferId> place = {}; // of wgmma: registers of its place in the ring
};
// The same as lower().
Lowered lower_part(const poly::Group &group, const schedule::Schedule &schedule,
                   const Target &target, const Observer &observer = {});

// Changes whenever the code that turns a group into machine code changes: part of every cache key.
std::string_view code_version();

} // namespace tilefuse::lower
