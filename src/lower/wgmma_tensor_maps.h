// SPDX-License-Identifier: Apache-2.0
// The tensor maps by which a kernel with wgmma copies its inputs.
#pragma once

#include <vector>

#include "lower/wgmma_producer.h"

namespace tilefuse::lower {

// By place in WgmmaRing::copied.
struct RingMaps {
  std::vector<kernel::MapId> data; // none where warps gather it
  std::vector<kernel::MapId> filter;
};
RingMaps declare_maps(Context &context, const WgmmaParts &parts);

} // namespace tilefuse::lower
