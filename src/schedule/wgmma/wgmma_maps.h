// SPDX-License-Identifier: Apache-2.0
// The tensor maps of data, and of a filter beside data that is turned as well (wgmma.h).
#pragma once

#include "schedule/schedule.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

// Of data that warps gather: none.
DataMap data_map(const nest::Nest &nest, const Schedule &schedule);
// Of a filter beside data that is turned as well.
DataMap turned_filter_map(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
