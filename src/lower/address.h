// SPDX-License-Identifier: Apache-2.0
// Addresses of inputs where the arithmetic reads them: in memory, packed or staged.
#pragma once

#include <cstdint>

#include "lower/context.h"

namespace tilefuse::lower {

// Address of an input where the arithmetic reads it, in parts: what does not change inside a
// register tile, what does not change inside a chunk, and the rest.
kernel::ExprRef input_base(const Context &cx, int input);
kernel::ExprRef chunk_base(const Context &cx, int input, kernel::ExprRef base);
struct Address {
  kernel::ExprRef index{};
  std::int64_t lane_stride = 0; // elements between neighbours of a vector; 0: the same for all
};
Address input_address(const Context &cx, int input, kernel::ExprRef base);

} // namespace tilefuse::lower
