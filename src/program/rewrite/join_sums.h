// SPDX-License-Identifier: Apache-2.0
// Sums over the same points of the same tensors become one with an index more, so that what they
// read is read once: the mean and the variance of a batch, the two sums of a normalisation's
// gradient.
//
//   %3 = sum[n, c](%0[n, c]) -> [c]
//   %4 = sum[n, c]($0 * $0 of %0[n, c]) -> [c]
// becomes, with %9 = [0, 1],
//   %8 = sum[k, n, c](select($0 == 0, $1, $1 * $1) of %9[k], %0[n, c]) -> [k, c]
//
// and who read %3 reads %8 at k = 0. A small map that reads one of the sums becomes an assignment
// of a term, which can; for all other readers the sum is copied out.
//
// Ensures: tensors that stay keep their numbers; values are the same.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program join_sums(const Program &program);

} // namespace tilefuse::program
