// SPDX-License-Identifier: Apache-2.0
// A sum of the parts that another sum stores, as one nest:
//
//   gemm     n, m | y_x      part[n, m] = sum of term(in[n, y_x, m])
//   reduce   m | n           out[m] = sum of part[n, m]
// becomes
//   gemm     m | n, y_x      out[m] = sum of term(in[n, y_x, m])
#pragma once

#include <optional>

#include "nest/nest.h"

namespace tilefuse::poly {

// Nothing where `outer` does more than add up what `inner` stores. Slots are those of the inner
// nest, then those of the outer one.
std::optional<nest::Nest> sum_of_sums(const nest::Nest &inner, const nest::Nest &outer);

} // namespace tilefuse::poly
