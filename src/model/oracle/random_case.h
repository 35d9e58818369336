// SPDX-License-Identifier: Apache-2.0
// Random nest x random legal schedule x random target, from numbers that RapidCheck can shrink.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "model/oracle/kernel_case.h"

namespace tilefuse::model {

using Tape = std::vector<std::uint32_t>;

// Numbers that decide a case. Shrinking one part leaves what the others decide in place.
struct Tapes {
  Tape nest;
  Tape schedule;
  std::uint32_t data = 0; // odd: reals
};

// Targets that exist in the simulator alone: vectors or work-items, with much or little memory.
Target random_target(Random &random, LaneKind lanes);

// The scalar schedule where the sampler finds none.
KernelCase draw_case(const Tapes &tapes, const Target &target);
KernelCase draw_case(const Tapes &tapes, LaneKind lanes);

// A nest that matrix instructions compute under a random schedule of them, on a device with tensor
// cores that exists in the simulator alone; nothing where the sampler finds none.
std::optional<KernelCase> draw_core_case(const Tapes &tapes);
// The same with wgmma, under a schedule of the search.
std::optional<KernelCase> draw_wgmma_case(const Tapes &tapes);

// The same with a sum of the result's tiles beside it.
std::optional<KernelCase> draw_sum_case(const Tapes &tapes);

// A product of bytes under a schedule with a dot product; nothing where the sampler finds none. The
// second has every instruction and exists in the simulator alone.
std::optional<KernelCase> draw_dot_case(const Tapes &tapes, const Target &target);
std::optional<KernelCase> draw_dot_case(const Tapes &tapes);

} // namespace tilefuse::model
