// SPDX-License-Identifier: Apache-2.0
// Legality of schedules with a matrix instruction. Features exclude each other in a few pairs, each
// with what in the machine or in the kernel's protocol forbids it. Everything else combines: what a
// number may be is a range (range.h), what copies bring is core_pipes.h, what instructions read
// atom_tile.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Why a schedule with `core` cannot run, beyond its shape; nothing when it can.
std::optional<std::string> wrong_core(const nest::Nest &nest, const Schedule &schedule,
                                      const Target &target);

// Whether the target has the instruction, and the nest its types.
std::optional<std::string> wrong_core_target(const nest::Nest &nest, const Schedule &schedule,
                                             const Target &target);
// Tiles of other indices than the channel, the depth and, in boxes of wgmma, pixels.
std::optional<std::string> wrong_core_loops(const nest::Nest &nest, const Schedule &schedule);

struct Exclusion {
  std::string_view one, other, reason;
  bool (*both)(const Gemm &gemm);
};

std::span<const Exclusion> exclusions();
// The first pair that the schedule has; nothing where it has none.
std::optional<std::string> excluded(const Gemm &gemm);

} // namespace tilefuse::schedule
