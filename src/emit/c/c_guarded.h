// SPDX-License-Identifier: Apache-2.0
// Vectors whose lanes are apart or partly valid, as calls of helper functions that take a pointer.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

std::string load_by_helper(CContext &cx, const kernel::Type &type, const kernel::Load &load);
// A statement.
std::string store_by_helper(CContext &cx, const kernel::Store &store, const std::string &value);

} // namespace tilefuse::emit
