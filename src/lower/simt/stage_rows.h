// SPDX-License-Identifier: Apache-2.0
// Staging tiles that are copied by the rows of their source.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// The whole tile; `pads_only`: no more than what lies outside the tensor.
StmtRef fill_by_rows(const Context &cx, int input, bool pads_only = false);
// Of dimension d of a tile, `count` subscripts from `from` on, moved to its beginning.
StmtRef move_rows(const Context &cx, int input, std::size_t d, std::int64_t from,
                  std::int64_t count);

} // namespace tilefuse::lower
