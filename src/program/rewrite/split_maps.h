// SPDX-License-Identifier: Apache-2.0
// Splits large pointwise expressions, so that no kernel is one endless expression: parts of a map
// with more than kMaxMapNodes nodes become maps of their own, the largest arguments first.
//
//   %9 = map[…](a + b)                 with 40 nodes in a and 20 in b
// becomes
//   %10 = map[…](a)
//   %9 = map[%10, …]($0 + b)
//
// Ensures: tensors keep their numbers; values are the same.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Largest number of nodes of a map's expression after split_maps.
inline constexpr int kMaxMapNodes = 48;

// Number of nodes of an expression: operations, casts and leaves.
int count_nodes(const Expr &expr);

// The same program with the expressions of all maps small.
Program split_maps(Program program);

} // namespace tilefuse::program
