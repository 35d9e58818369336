// SPDX-License-Identifier: Apache-2.0
// What was decided, under a limit of memory (plan/recompute.h), about tensors that wait while most
// is alive: each is computed again in front of its next reader, or kept, and why.
//
//   again  205.5 MB   71.4 us  Relu relu1    cheapest of 31
//   kept   102.8 MB  310.2 us  Conv conv4    enough is free
#pragma once

#include <cstdint>
#include <string>

namespace tilefuse::model {

struct WaitingTensor {
  std::string origin;       // of the kernel that writes it
  std::int64_t bytes = 0;   // that it takes where most is alive
  bool is_repeated = false; // it is computed again
  std::int64_t freed = 0;   // bytes there, less what waits in its place; 0: none could be
  double seconds = 0;       // that its repetition takes, as predicted
  std::string reason;
};

} // namespace tilefuse::model
