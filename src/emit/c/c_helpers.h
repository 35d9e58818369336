// SPDX-License-Identifier: Apache-2.0
// Helper functions of a kernel's text: each makes sure that a helper exists and gives its name.
// Behind each stand the helper's arguments.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

std::string select_helper(CContext &cx, ScalarOp min_or_max, const kernel::Type &type); // (a, b)
std::string division_helper(CContext &cx, ScalarOp div_or_mod,
                            const kernel::Type &type); // (a, b), safe for every b

// (a), for RoundF16 and RoundBF16.
std::string rounding_helper(CContext &cx, ScalarOp op, const kernel::Type &type);
std::string load_helper(CContext &cx, const kernel::Buffer &buffer,
                        int lanes); // (pointer, valid, fill)
std::string store_helper(CContext &cx, const kernel::Buffer &buffer,
                         int lanes); // (pointer, value, valid)

// (pointer, stride, valid, fill) and (pointer, stride, value, valid).
std::string gather_helper(CContext &cx, const kernel::Buffer &buffer, int lanes);
std::string scatter_helper(CContext &cx, const kernel::Buffer &buffer, int lanes);

} // namespace tilefuse::emit
