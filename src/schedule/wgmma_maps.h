// SPDX-License-Identifier: Apache-2.0
// What the tensor maps of pixels (wgmma_maps.cpp) and of filters (wgmma_filter_map.cpp) share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::schedule {

inline constexpr std::int64_t kMapAlign = 16; // bytes, of starts and strides

// Why TMA cannot walk a tensor of these strides and offset, in elements of `size` bytes; empty: it
// can. The first stride is that of the contiguous dimension.
std::string misaligned(const std::vector<std::int64_t> &strides, std::int64_t offset,
                       std::int64_t size, std::string_view what);

} // namespace tilefuse::schedule
