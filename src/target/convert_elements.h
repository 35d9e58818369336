// SPDX-License-Identifier: Apache-2.0
// Whole arrays from one element type to another: weights of a network, say.
#pragma once

#include <cstdint>

#include "target/dtype.h"

namespace tilefuse {

// The first `count` elements of an array as store_element() of load_element() makes them.
void convert_elements(const void *from, DType from_type, void *to, DType to_type,
                      std::int64_t count);

} // namespace tilefuse
