// SPDX-License-Identifier: Apache-2.0
// Inside of what stores a tensor once more, as matrix units want it: conversions before it, which
// the storing statement does, too.
#pragma once

#include <map>

#include "program/program.h"

namespace tilefuse::program {

using Casts = std::map<TensorId, TensorId>; // a converted tensor → what it was converted from

// Adds the result of a statement that does nothing but convert floats.
void note_cast(const Program &program, const Statement &statement, Casts &casts);
// What the tensor was converted from, or itself.
TensorId before_cast(const Casts &casts, TensorId tensor);

} // namespace tilefuse::program
