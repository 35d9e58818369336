// SPDX-License-Identifier: Apache-2.0
// Sums of rows whose readers hide small errors, as the quotient of a softmax that is rounded to half
// precision hides those of its divisor (target/coarse.h):
//
//   term exp($0 - $1)              coarse(exp($0 - $1))
//
// Then the sum and what it divides have the same exponentials.
#pragma once

#include "poly/group.h"

namespace tilefuse::poly {

// Allows coarse operations in the terms of a row group's sums that are read nowhere else than where
// they are allowed. Requires rows.
void allow_coarse_sums(Group &group);

} // namespace tilefuse::poly
