// SPDX-License-Identifier: Apache-2.0
// Why a kernel takes as long as it does, in a few lines, before any detail:
//
//   measured 38.1 us on this device, 84 % of its roofline, which arithmetic sets
//   predicted 60.3 us: compute 92 %, memory 5 %, launch 3 %
//   try      tune --kernel 3: the model's choice is not measured against others yet
#pragma once

#include <optional>
#include <string>

#include "cost/estimate.h"
#include "poly/group.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// A kernel's time by itself on random data, and what the device allows.
struct MeasuredKernel {
  double seconds = 0;
  double roofline = 0; // share
  std::string limit;   // "arithmetic" or "memory"
};
// Nothing where no code can be generated for the device.
std::optional<MeasuredKernel> measure(const poly::Group &group, const schedule::Schedule &schedule,
                                      runtime::Device &device);

// How a kernel is chosen, and what its number is.
struct VerdictOn {
  int number = 0;
  bool is_tuned = false;
  cost::Estimate predicted;
  std::optional<MeasuredKernel> measured;
};
std::string verdict(const VerdictOn &kernel);

} // namespace tilefuse::report
