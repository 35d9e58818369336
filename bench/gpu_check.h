// SPDX-License-Identifier: Apache-2.0
// Random convolutions on matrix instructions, on a device, against the evaluator: small integers
// bit by bit, reals within what rounding allows, the bytes around every argument untouched.
#pragma once

#include <cstdint>

#include "gpu_work.h"
#include "runtime/device.h"

namespace tilefuse::bench {

struct CheckRequest {
  int count = 0; // problems, each with a schedule of its own
  std::uint64_t seed = 1;
  DType type = DType::F16;
  bool tf32 = false;
  bool wgmma = false;    // under schedules with wgmma only
  bool clusters = false; // of those, on clusters of blocks
  bool parts = false;    // of those, in parts that blocks of a cluster join
  bool windows = false;  // of those, with taps from windows of data
  bool gathers = false;  // of those, with data that warps gather
  bool ahead = false;    // of those, with operands of post-ops fetched ahead
  bool blocks = false;   // channels in blocks of 32
  bool maps = false;     // the first input is computed by a map, in the ring
  bool lists = false;    // prints every case before it runs
  Direction direction = Direction::Forward;
};

// Prints what is wrong and a summary; gives how many are. Problems that no matrix instruction
// computes are drawn again.
int check_random(const CheckRequest &request, runtime::Device &device);

} // namespace tilefuse::bench
