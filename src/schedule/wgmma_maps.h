// SPDX-License-Identifier: Apache-2.0
// What the tensor maps of pixels (wgmma_maps.cpp) and of filters (wgmma_filter_map.cpp) share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::schedule {

inline constexpr std::int64_t kMapAlign = 16; // bytes, of starts and strides

// Why TMA cannot walk a tensor of these strides and offset, in elements of `size` bytes; empty: it
// can. The first stride is that of the contiguous dimension.
std::string misaligned(const std::vector<std::int64_t> &strides, std::int64_t offset,
                       std::int64_t size, std::string_view what);
// The same of groups that lie so many elements apart in the dimension along which copies start.
std::string off_chunk(std::int64_t apart, std::int64_t size);

// An input whose runs of its contiguous index start at every so many elements of one dimension, as
// rows of taps do: as a dimension of runs, which overlap, and one of a run's elements.
nest::Operand part_runs(const nest::Nest &nest, nest::Operand operand, int along,
                        const std::vector<int> &pixels, const std::vector<int> &taps);

} // namespace tilefuse::schedule
