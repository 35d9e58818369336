// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch: the union of its parts' arguments, without repetition.
//
//   part 0   error, filter, result          all        error 0, filter 1, result 2, filter' 3
//   part 1   error, filter', result         of_parts   [0, 1, 2], [0, 3, 2]
//
// The order of `all` is that in which the parts, first to last, first name an argument; it is the
// order of the launched function's parameters. A packed input belongs to one part.
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

// All arguments of a launch, and which of them each part's kernel has.
struct Arguments {
  std::vector<Argument> all;
  std::vector<std::vector<int>> of_parts; // by part and argument of its kernel: position in `all`
};

// Arguments of the launch. Slots of two parts are one argument where they are the same buffer with
// the same type and size.
Arguments arguments(const Launch &launch);

// Buffer of the program that the argument is, or is packed from.
program::BufferId buffer_of(const Launch &launch, const Argument &argument);

} // namespace tilefuse::launch
