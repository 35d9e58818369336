// SPDX-License-Identifier: Apache-2.0
// Functions of the language that are written in it: relu, sigmoid, tan, the
// rows of softmax, …. A text's own function of the same name stands before
// them. Those of one pointwise expression are inlined, so that 1 - sigmoid(X)
// is one map.
#pragma once

#include "tile/function_table.h"

namespace tilefuse::tile {

inline constexpr int kPreludeOrder = -1;

const FunctionTable &prelude();
// Whether a function is one pointwise expression.
bool is_pointwise(const Function &function);

} // namespace tilefuse::tile
