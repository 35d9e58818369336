// SPDX-License-Identifier: Apache-2.0
// Contractions read what was moved where it lay before (read_through.h), and write their results
// where they are moved to, so that permutations, slices and rows of tensors are no copies:
//
//   %3 : f32[384, 64, 197] = assign[p, k, n](%2[n, p, k]) -> [p, k, n]
//   %4 = sum[p, m, n, k](%1[p, m, k] * %3[p, k, n]) -> [p, m, n]
//   %5 : f32[197, 384, 197] = assign[m, p, n](%4[p, m, n]) -> [m, p, n]
// becomes
//   %5 : f32[197, 384, 197] = sum[p, m, n, k](%1[p, m, k] * %2[n, p, k]) -> [m, p, n]
//
// A sum of one operand also reads the result of a map through views, which then may become its term
// (compose_maps.h). Where parts of a reduced index would lie apart, the copy stays: a shuffle of
// channels is one. Indices of results that take one value and are read nowhere disappear.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

Program absorb_movement(Program program);

} // namespace tilefuse::program
