// SPDX-License-Identifier: Apache-2.0
// Results that leave through local memory (`store local`): which of them a buffer holds at a time,
// how they lie in it, and in which runs they leave. Legality, cost and lowering read it here.
//
//   schedule nest vector               results [n, m, y, x] lie in a buffer [x][16 channels]: those
//     tile   n:1 m:16 y:4 x:56         of all steps of a row. They leave channel by channel, in
//     lane   m:8                       runs of 56 pixels
//     keep   m:2 x:6
//     loop   n y m x c r s
//     store  local
//
// A run begins with the index that is fastest in the result and goes on through those whose points
// follow without a gap. The loops over steps at and inside its indices fill the buffer; those
// outside fill it anew. Along the lanes results lie next to each other, as they are computed; a row
// of them is whole vectors, or with work-items of an odd length, so that a run meets all banks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// An output index in the buffer.
struct ResultDim {
  std::int64_t points = 1; // that the buffer holds: with work-items also those past an extent
  std::int64_t stride = 0; // elements of the buffer from one to the next
  bool is_tile = false;    // they are the block's tile; else those of one step
};

struct ResultTile {
  Indexed<IndexId, ResultDim> dims; // of output indices
  IndexId lane{};                   // along which results lie next to each other
  std::vector<IndexId> run;         // fastest first; all but the last are there as a whole
  std::vector<IndexId> others;      // neither, of several points
  std::size_t level = 0;            // of the loop order: loops from there on fill the buffer
  std::int64_t run_stride = 1;      // elements of the result between neighbours of a run
  std::int64_t elems = 1;           // of the buffer

  // Most points of a run, and elements of the buffer between neighbours.
  std::int64_t run_points() const;
  std::int64_t run_step() const { return dims[run.front()].stride; }
  // Runs that leave at a time, at most.
  std::int64_t runs() const;
};

// Requires `store local`, and wrong_result_store to give no reason.
ResultTile result_tile(const nest::Nest &nest, const Schedule &schedule);

// Bytes of its buffer; 0 where results are stored directly.
std::int64_t result_bytes(const nest::Nest &nest, const Schedule &schedule);

// Why results cannot leave as the schedule says; nothing where they can.
std::optional<std::string> wrong_result_store(const nest::Nest &nest, const Schedule &schedule);

// The output index of several points that is fastest in the result, if there is one.
std::optional<IndexId> fastest_in_result(const nest::Nest &nest);

} // namespace tilefuse::schedule
