// SPDX-License-Identifier: Apache-2.0
// Counting by isl what a closed form only bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "poly/progression.h"

namespace tilefuse::poly {

// How many x in [0, size) there are with divisor * x = form for values of its variables that have
// no gaps; nothing where the quota did not suffice.
std::optional<std::int64_t> exact_count(const nest::Linear &form, std::int64_t divisor,
                                        std::span<const Progression> variables, std::int64_t size);

} // namespace tilefuse::poly
