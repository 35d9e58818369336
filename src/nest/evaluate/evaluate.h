// SPDX-License-Identifier: Apache-2.0
// Oracle 1: a nest in double precision.
#pragma once

#include <cstddef>
#include <span>

#include "nest/nest.h"

namespace tilefuse::nest {

// Oracle 1: the nest in double precision over typed buffers (elements rounded to the slot's type on
// store only; casts to integers truncate). `slots` are the elements by slot, as long as declared.
// Throws Error{Shape|Limit}: an invalid nest, buffers that are too small, no memory.
void evaluate(const Nest &nest, std::span<const std::span<std::byte>> slots);

} // namespace tilefuse::nest
