// SPDX-License-Identifier: Apache-2.0
// Results that are turned in a local buffer (schedule/result_tile.h): where a step puts them, and
// the statements that take them from there to memory.
//
// A block of one work-item takes squares of vectors, exchanges their rows and columns in registers
// and stores them along the run. Work-items store neighbours of a run side by side.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// The element of the buffer that holds the current point's result.
ExprRef turned_place(const Context &cx);

// Stores what the buffer holds, at the current position of the loops outside it.
StmtRef store_tile(const Context &cx);

} // namespace tilefuse::lower
