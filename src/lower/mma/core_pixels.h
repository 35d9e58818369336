// SPDX-License-Identifier: Apache-2.0
// The pixel and the channel of a result under a matrix instruction.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// The result and all that post-ops read lie as if the pixel indices were one: pixels are stored to
// without being taken apart.
bool pixels_lie_as_one(const Context &cx);

// Lets the pixel indices stand at pixel number `pixel`, the channel indices at channel number
// `channel`; appends the names that this takes.
void place_pixel(Context &cx, ExprRef pixel, bool as_one, Stmts &list);
void place_channel(Context &cx, ExprRef channel, Stmts &list);

} // namespace tilefuse::lower
