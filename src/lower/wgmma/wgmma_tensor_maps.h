// SPDX-License-Identifier: Apache-2.0
// The tensor maps by which a kernel with wgmma copies its inputs.
#pragma once

#include <vector>

#include "lower/wgmma/wgmma_parts.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::lower {

// By place in WgmmaRing::copied.
struct RingMaps {
  std::vector<kernel::MapId> data; // none where warps gather it
  std::vector<kernel::MapId> filter;
};
RingMaps declare_maps(const Context &context, const WgmmaCluster &cluster);

// Where row number `row` of an input's box begins in its map, at the index along which it is
// contiguous 0; empty where the box has places of its own.
std::vector<ExprRef> row_base(const Context &context, const WgmmaTiles &tiles,
                              const schedule::DataMap &map, const std::vector<IndexId> &pixels,
                              ExprRef row, Stmts &list);

} // namespace tilefuse::lower
