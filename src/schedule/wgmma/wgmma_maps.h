// SPDX-License-Identifier: Apache-2.0
// The tensor maps of data, and of a filter beside data that is turned as well (wgmma.h).
#pragma once

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

// Of data that warps gather: none.
DataMap data_map(const Gemm &gemm);
// Of a filter beside data that is turned as well.
DataMap turned_filter_map(const Gemm &gemm);

} // namespace tilefuse::schedule
