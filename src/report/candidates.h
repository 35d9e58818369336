// SPDX-License-Identifier: Apache-2.0
// The schedules that were weighed for a kernel as one table of differences: what each does otherwise
// than the chosen one, its predicted time, and why it is not taken.
//
//   schedule     differs                          us  against  why not
//   chosen                                      38.2           model
//   2            tile y:7→4, reg y:7→4          39.4    +3.1%  load ports 31 us, chosen 29
//   tile x:32→64                                                refused: 20 accumulators, …
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/demand.h"
#include "poly/group.h"
#include "report/table.h"
#include "search/pick.h"

namespace tilefuse::report {

struct Weighed {
  enum class Kind { Chosen, Ranked, Neighbour };
  Kind kind = Kind::Ranked;
  std::size_t rank = 0;          // of the search, from 1; 0: it did not find it
  std::string differs;           // from the chosen schedule
  std::optional<double> seconds; // predicted; nothing: it is refused
  cost::Demands demands;
  std::string why_not; // of the chosen: who chose it
};

// The chosen schedule, those of `ranked` that are others, and what stands next to the choice with
// one number doubled. `by`: who chose.
std::vector<Weighed> weigh(const poly::Group &group, const Target &target,
                           const schedule::Schedule &chosen, const std::string &by,
                           const std::vector<search::Candidate> &ranked);

// The chosen one first; neighbours last, those faster by the model before the slower, the refused
// behind.
Table candidate_table(std::span<const Weighed> weighed);

// What the text of a schedule says otherwise than another's: "tile y:7→4, x:8→16; stage 0 added".
std::string difference(const std::string &chosen, const std::string &other);
// The demands that are larger than the chosen schedule's, largest growth first, two at most:
// "load ports 35.2 us, chosen 30.1". Growth below 1 % of the demand or of `seconds` is left out.
std::string worse_demands(const cost::Demands &demands, const cost::Demands &chosen,
                          double seconds);

} // namespace tilefuse::report
