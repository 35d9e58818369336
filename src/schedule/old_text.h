// SPDX-License-Identifier: Apache-2.0
// Schedule texts in the words of the release before, as tuning records hold them: read, never
// written.
//
//   core m64n128k16.f16.f32 rows 256 warps 2 1 ring 9 blocks 132 turns 1 window 3 keep_filter
//
// stands for lines `wgmma`, `pipe`, `role`, `order` and `store` (schedule/text.h).
#pragma once

#include "base/scanner.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// What an old `core` line says of pipes, which belong to inputs that are known once the whole text
// is read.
struct OldPipes {
  bool is_there = false;
  int ring = 1;
  int window = 0;
  bool keeps_filter = false;
  bool gathers = false;
};

// Reads what follows the word `core`, into the schedule but for the pipes. Throws Error{Syntax}.
OldPipes parse_old_core(Scanner &scanner, Schedule &schedule);
// Gives the pipes to the inputs that are data and filter.
void assign_old_pipes(const nest::Nest &nest, const OldPipes &pipes, Schedule &schedule);

} // namespace tilefuse::schedule
