// SPDX-License-Identifier: Apache-2.0
// Stores as C text; loads are expressions (c_expr.h).
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// A store as a statement without indentation.
std::string store_text(CContext &cx, const kernel::Store &store);

} // namespace tilefuse::emit
