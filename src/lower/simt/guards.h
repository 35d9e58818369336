// SPDX-License-Identifier: Apache-2.0
// Tests of subscripts that may leave their tensor, as schedule/guards.h sorts them.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// 0 <= at < bound at the current point.
ExprRef inside(const Context &cx, const nest::Linear &at, std::int64_t bound);

// The tests of an input that remain to be made at the current point, but for positions that other
// inputs say; null: none.
ExprRef checked_inside(const Context &cx, std::size_t input);
// Those that an edge step knows: constant once its copies and taps are unrolled. Null: none.
ExprRef edge_inside(const Context &cx, std::size_t input);

// The points of a reduced index that are looped over, [begin, end): all, or what clipping leaves.
struct TapRange {
  ExprRef begin{};
  ExprRef end{};
};
TapRange clipped_taps(const Context &cx, IndexId index);

} // namespace tilefuse::lower
