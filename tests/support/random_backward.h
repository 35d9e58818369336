// SPDX-License-Identifier: Apache-2.0
// Random groups of a backward pass: the gradient of a convolution by its input (a residue class of
// a stride) or by its filter, whose operands are computed where they are staged: a derivative's
// mask, a scale and a shift with their ReLU. What a map computes is now and then stored as well
// (L7).
#pragma once

#include "base/random.h"
#include "poly/group.h"

namespace tilefuse::model {

poly::PlacedGroup random_backward_group(Random &random);

} // namespace tilefuse::model
