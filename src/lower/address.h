// SPDX-License-Identifier: Apache-2.0
// Addresses of inputs where the arithmetic reads them: in memory, packed or staged.
#pragma once

#include <cstdint>

#include "lower/context.h"

namespace tilefuse::lower {

// Address of an input where the arithmetic reads it, in parts: what does not change inside a
// register tile, what does not change inside a chunk, and the rest.
ExprRef input_base(const Context &cx, int input);
ExprRef chunk_base(const Context &cx, int input, ExprRef base);
struct Address {
  ExprRef index{};
  std::int64_t lane_stride = 0; // elements between neighbours of a vector; 0: the same for all
};
Address input_address(const Context &cx, int input, ExprRef base);
// Elements from one point of an index to the next, within a step and a chunk.
std::int64_t input_stride(const Context &cx, int input, IndexId index);

} // namespace tilefuse::lower
