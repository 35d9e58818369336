// SPDX-License-Identifier: Apache-2.0
// Stores as C text; loads are expressions (c_expr.h).
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// Whether the vector at an index may be accessed whole: it begins at a multiple of its size.
bool is_aligned(const CContext &cx, const kernel::Type &type, const kernel::Load &at);

// A store as a statement without indentation.
std::string store_text(CContext &cx, const kernel::Store &store);

} // namespace tilefuse::emit
