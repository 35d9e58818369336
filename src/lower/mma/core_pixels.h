// SPDX-License-Identifier: Apache-2.0
// The pixel and the channel of a result under a matrix instruction.
#pragma once

#include <functional>
#include <string>

#include "lower/context.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::lower {

// The result and all that post-ops read lie as if the pixel indices were one: pixels are stored to
// without being taken apart.
bool pixels_lie_as_one(const Context &cx, const schedule::CoreRoles &roles);

// Gives a value a name.
using NameValue = std::function<kernel::ExprRef(const std::string &, kernel::ExprRef)>;

// Lets the pixel indices stand at pixel number `pixel`, the channel indices at channel number
// `channel`.
void place_pixel(Context &cx, const schedule::CoreRoles &roles, kernel::ExprRef pixel, bool as_one,
                 const NameValue &named);
void place_channel(Context &cx, const schedule::CoreRoles &roles, kernel::ExprRef channel,
                   const NameValue &named);

} // namespace tilefuse::lower
