// SPDX-License-Identifier: Apache-2.0
// The pixel of a row of results under a core instruction.
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

// Lets the pixel indices stand at pixel number `pixel`; `named` gives a value a name.
void place_pixel(Context &cx, const schedule::CoreRoles &roles, kernel::ExprRef pixel, bool as_one,
                 const std::function<kernel::ExprRef(const std::string &, kernel::ExprRef)> &named);

} // namespace tilefuse::lower
