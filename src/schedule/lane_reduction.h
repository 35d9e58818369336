// SPDX-License-Identifier: Apache-2.0
// Reduced indices that are dealt over lanes, so that neighbours read neighbours of a row: `lane a:32`
// over work-items, `vec a:8` over the elements of a work-item's vector; on a CPU `lane a:16` over
// those of its vectors. Each accumulates its own points, the last ones where they exist. At the end
// of a step of the outputs what they accumulated is combined in a fixed order: the elements of a
// vector first, then the work-items, in rounds through a buffer of local memory. Those that are
// first along every such index do the post-ops and store.
//
//   schedule rows workitem       four rows of 768 a block; 32 work-items of a row read 8 elements
//     tile   o:4                 each at a time, all of the row in three reads. After the barrier
//     lane   o:4 a:32            16 of them take what those 16 further have, then 8, 4, 2 and 1.
//     vec    a:8
//     reg    a:3
//     loop   o a
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Of a digit of a work-item's number: those at which `apart` further lies among the `live` values
// that still hold something take what the work-item has that is `apart` further.
struct LaneRound {
  std::int64_t below = 1; // work-items from one value of the digit to the next
  std::int64_t count = 1; // its values
  std::int64_t live = 1;
  std::int64_t apart = 1;
};

// Rounds, in order; none where no reduced index has lanes. Each ends in a barrier.
std::vector<LaneRound> lane_rounds(const nest::Nest &nest, const Schedule &schedule);

// Whether the elements of a vector are neighbours of a reduced index, to be combined.
bool has_reduced_vector(const nest::Nest &nest, const Schedule &schedule);
// Elements of a result: of a vector of neighbours of an output index, else 1.
std::int64_t result_width(const nest::Nest &nest, const Schedule &schedule);

// Elements and bytes of the buffer that the rounds go through; 0 without rounds.
std::int64_t lane_buffer_elems(const nest::Nest &nest, const Schedule &schedule);
std::int64_t lane_buffer_bytes(const nest::Nest &nest, const Schedule &schedule);

// Why reduced indices cannot be dealt over lanes as the schedule says; nothing where they can.
std::optional<std::string> wrong_lane_reduction(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
