// SPDX-License-Identifier: Apache-2.0
// A concatenation that begins with the pieces of an earlier one begins with that, as those of a
// dense block of layers do:
//
//   %4 = [%1, %2]
//   %7 = [%1, %2, %6]       becomes       %7 = [%4, %6]
//
// Then a piece is in one concatenation only, and all of them can lie in the last one's memory
// (program/storage/storage.h), where each piece is written once and none is copied.
//
// Ensures: tensors that stay keep their numbers; values are the same.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program share_concatenations(const Program &program);

} // namespace tilefuse::program
