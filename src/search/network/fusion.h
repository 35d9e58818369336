// SPDX-License-Identifier: Apache-2.0
// Which nests of a network become one kernel on a target: poly/fuse.h with the target's judge. And
// what came of it: kernels and bytes, fused and not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "poly/fuse.h"
#include "poly/post_ops.h"
#include "program/storage/storage.h"
#include "search/network/kept_choices.h"
#include "target/target.h"

namespace tilefuse::search {

struct FusionSettings {
  poly::FuseLevel level = poly::FuseLevel::Pointwise;
  std::int64_t quota = poly::FuseOptions().quota; // isl's operations that one decision may spend
};

// Verdicts, and the schedules that they rest on, are taken over from `kept`, or added to it.
std::vector<poly::PlacedGroup> make_groups(const program::StoredProgram &stored,
                                           const FusionSettings &settings, const Target &target,
                                           poly::FuseReport *report = nullptr,
                                           KeptChoices *kept = nullptr);

// Once reductions are in parts (search/network/split_groups.h): maps that a partial nest alone
// reads are offered to it. Partial nests write what stands behind the first `buffers` of the
// program, which were there before; those whose tiles their own launch joins take none.
std::vector<poly::PlacedGroup> feed_parts(std::vector<poly::PlacedGroup> groups,
                                          const program::StoredProgram &stored, std::size_t buffers,
                                          const FusionSettings &settings, const Target &target,
                                          KeptChoices *kept = nullptr);

// Bytes of tensors that the kernels of a plan read and write, each once per kernel; constants and
// what exists in tiles only are left out.
double bytes_moved(const std::vector<poly::PlacedGroup> &groups,
                   const program::StoredProgram &stored);

} // namespace tilefuse::search
