// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Operations, casts and leaves of an expression.
int count_nodes(const Expr &expr);

// The same program where every map's expression is small (at most kMaxMapNodes leaves and
// operations): parts of larger ones become maps of their own. Tensors keep their numbers.
inline constexpr int kMaxMapNodes = 48;
Program split_maps(Program program);

} // namespace tilefuse::program
