// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch: those of its parts' kernels, what several of them read or write once.
#pragma once

#include <cstddef>
#include <vector>

#include "launch/launch.h"
#include "schedule/staging.h"

namespace tilefuse::launch {

// An argument of a launch, as the first part that has it names it.
struct Argument {
  std::size_t part = 0;
  schedule::KernelArg arg;
};

struct Arguments {
  std::vector<Argument> all;
  std::vector<std::vector<int>> of_parts; // by part and argument of its kernel: which of all
};

// In the order in which parts first name them. Slots of two parts are one argument where they are
// the same buffer, with one type and size; packed inputs are not shared.
Arguments arguments(const Launch &launch);

// The buffer of the program that an argument is, or is packed from.
program::BufferId buffer_of(const Launch &launch, const Argument &argument);

} // namespace tilefuse::launch
