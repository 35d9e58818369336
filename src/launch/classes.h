// SPDX-License-Identifier: Apache-2.0
// Classes of one statement: the groups that a statement falls into whose result's subscripts hold
// several indices, such as a strided input gradient or a transposed convolution
// (nest/residues.h). Each writes points of its own of one tensor and reads nothing that another
// writes, so that they run in any order, or beside each other in one launch.
//
//   out 2 + 0 [n:8*50176, 2*y:28*1792, 2*x:28*64, c:64*1]          one class
//   out 2 + 0 [n:8*50176, 2*y:28*1792, 2*x + 1:28*64, c:64*1]      another
#pragma once

#include "poly/group.h"

namespace tilefuse::launch {

// Whether both groups come from one statement, write one window of one buffer, fill what they
// stage with maps only, and neither reads what one of them stores, by-products included.
bool are_classes(const poly::PlacedGroup &a, const poly::PlacedGroup &b);

} // namespace tilefuse::launch
