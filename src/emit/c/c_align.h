// SPDX-License-Identifier: Apache-2.0
// What is known of an index when code is printed: a number that divides it. Vectors whose address
// is a multiple of their size are read and written as one access; others element by element.
#pragma once

#include <cstdint>
#include <vector>

#include "emit/c/c_context.h"
#include "kernel/nodes.h"

namespace tilefuse::emit {

// The largest access that is made as one: every buffer starts at a multiple of it.
constexpr int kAlignedBytes = 16;

// By VarId: a number that divides the variable's every value; 0: it is always 0.
std::vector<std::int64_t> variable_divisors(const kernel::Kernel &kernel);
// The same for an expression.
std::int64_t divisor_of(kernel::ExprRef expr, const std::vector<std::int64_t> &variables);
// Whether the vector at an index may be accessed whole: it begins at a multiple of its size.
bool is_aligned(const CContext &cx, const kernel::Type &type, const kernel::Load &at);
// The condition of a `valid` that means all `lanes` or none; null when it can mean some.
kernel::ExprRef all_or_none(kernel::ExprRef valid, int lanes);

} // namespace tilefuse::emit
