// SPDX-License-Identifier: Apache-2.0
// Vectors of half types that go from global memory to local memory as they are, through a variable,
// and lie in global memory at no aligned address: where the language has words, the variable holds
// those, two elements each, and nothing is converted.
#pragma once

#include <vector>

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// By VarId.
std::vector<bool> word_variables(const CContext &cx);
// The variable that is stored, where it is one of them; else null.
const kernel::VarRef *stored_words(const CContext &cx, const kernel::Store &store);

} // namespace tilefuse::emit
