// SPDX-License-Identifier: Apache-2.0
// Windows of data (schedule/mma/core.h) that a copy spreads to (poly/group.h): pixels of few
// channels, which the convolution reads in runs of neighbours that overlap. The tensor of these
// runs is not in memory. A group of warps (`cp_async`) reads each element of a window once, converts
// it and writes it to every row of the window that holds it:
//
//   spread input 0 of 0 slots 3 0
//   nest copy {
//     in 0 + 0 [d0, d1:3?*50176, 2*d2 + row - 3:224?*224, d3 - 3:224?*1]
//     out 1 + 0 [d0:256*213440, d2:115*1856, d3:232*8, row:2*4, d1:4*1]
//
// of which the anchor reads [n, y + r:115*1856, 16*x + run:1856*1]. A unit is what is written
// together, whole pixels and whole 16-byte chunks. Unit u of the row of pixel x is unit
// step * x + u of a line of 8 pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poly/group.h"
#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// The producer of the group that spreads.
std::optional<poly::MemberId> spread_of(const poly::Group &group);

// Why the producer cannot spread, under a schedule that is legal for the anchor alone.
std::optional<std::string> wrong_spread(const poly::Group &group, const Gemm &gemm,
                                        poly::MemberId producer);

// How the units of a window are dealt to the work-items of the group of warps that fills it.
struct SpreadPlan {
  int dim = 0;               // dimension of the anchor's data that the runs lie in
  std::int64_t pixel = 1;    // elements of a pixel: the stride of the copy's slowest index in `dim`
  std::int64_t unit = 1;     // elements of a unit
  std::int64_t step = 1;     // units from a row of a line to the next
  std::int64_t per_row = 1;  // units of a row
  std::int64_t per_line = 1; // different units of a line
  std::int64_t lines = 1;    // lines of a window
  // Units of a window.
  std::int64_t units() const { return per_line * lines; }
  // Rounds of the loop over a window's units, one unit to a work-item; the last may be partial.
  std::int64_t rounds() const;
  // Largest number of rows that hold one unit.
  std::int64_t rows() const { return (per_row + step - 1) / step; }
};
// The plan of a producer that spreads. Requires that wrong_spread found nothing.
SpreadPlan spread_plan(const poly::Group &group, const Gemm &gemm, poly::MemberId producer);

} // namespace tilefuse::schedule
