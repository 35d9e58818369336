// SPDX-License-Identifier: Apache-2.0
// Gradients of sums that are maps: where every element of an operand goes into one element of the
// result alone, at the same place in the dimensions that both have, its gradient is that element's,
// repeated over the others. As a map it joins what surrounds it in one kernel.
#pragma once

#include <optional>

#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {

// The result of an assignment as a map over views of its operands:
//
//   assign[n, c, y, x](%1[c] * %2[n, c, y, x]) -> [n, c, y, x]  =  map[view(%1), %2]($0 * $1)
//
// None for another contraction: other subscripts than indices, each once; dimensions in another
// order; an index that has several values and is not in the result.
std::optional<TensorId> as_broadcast(GradientBuilder &builder, const Tensor &result,
                                     const Contraction &body);

} // namespace tilefuse::program
