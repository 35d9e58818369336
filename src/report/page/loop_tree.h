// SPDX-License-Identifier: Apache-2.0
// A kernel's loops as its schedule nests them, outermost first:
//
//   grid: m 2, y 8: 16 blocks
//     loop y: 1 step of 7
//       loop c: 16 steps of 1
//         registers: y 7, x 2
//           lanes: x 8
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// Each stands inside the one before.
struct LoopLevel {
  std::string text;
  std::int64_t trips = 1;
  friend bool operator==(const LoopLevel &, const LoopLevel &) = default;
};

std::vector<LoopLevel> loop_tree(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
