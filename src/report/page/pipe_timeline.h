// SPDX-License-Identifier: Apache-2.0
// In which order the copies of a kernel's inputs, its arithmetic and its stores run, as its pipes
// and roles allow: a copy may be ahead by as many steps as it has buffers, arithmetic waits for all
// copies of its step, groups that take turns store while others multiply. One copy and one step
// take a unit of time each, so that this is an order and no prediction.
//
//   input 0: tma, 3 stages   |0|1|2| |3|
//   arithmetic                 |0|1|2|3|
//   store                              |s|
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

struct TimelineBar {
  enum class Kind { Copy, Compute, Store };
  std::size_t row = 0;
  double begin = 0;
  double end = 0;
  Kind kind = Kind::Copy;
  std::string text; // "2": the step
};

struct Timeline {
  std::vector<std::string> rows;
  std::vector<TimelineBar> bars;
  double length = 0;
};

// No bars where nothing is copied.
Timeline pipe_timeline(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
