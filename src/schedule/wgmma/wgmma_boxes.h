// SPDX-License-Identifier: Apache-2.0
// The tiled tensor map that copies a box of pixels (pixel_box.h), and the rows of the ring that it
// fills.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/mma/core.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

DataMap box_map(const Gemm &gemm);

// Of a row of data in the ring as copies leave it: the depth's, or that of neighbouring pixels'
// blocks; and from a pixel to the next as the instruction reads them.
std::int64_t ring_row_bytes(const Gemm &gemm);
std::int64_t pixel_bytes(const Gemm &gemm);

} // namespace tilefuse::schedule
