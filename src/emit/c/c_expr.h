// SPDX-License-Identifier: Apache-2.0
// Expressions as C text.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// An expression as C text, in parentheses where it is not a single term (`bare`).
std::string expression(CContext &cx, kernel::ExprRef expr);
// The same of a load, whose index is an expression in turn.
std::string load_text(CContext &cx, const kernel::Type &type, const kernel::Load &load);

} // namespace tilefuse::emit
