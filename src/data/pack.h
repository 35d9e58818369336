// SPDX-License-Identifier: Apache-2.0
// Pictures decoded once for all: of any source two .npy files, which npy_source.h reads without
// decoding:
//
//   NAME.images.npy   u8 [N, height, width, channels]
//   NAME.labels.npy   i32 [N]
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/source.h"

namespace tilefuse::data {

// "npy:NAME.images.npy,NAME.labels.npy", what open_source() reads the result by.
std::string packed_name(const std::string &name);

// In the order of the source, by `threads` (0: as many as there are cores); `progress`, which may be
// empty, is told of pictures. A file appears whole or not at all. Error{Io} for a damaged picture or a
// disk that takes no more.
void pack(const Source &source, const std::string &name, int threads,
          const std::function<void(std::int64_t done, std::int64_t total)> &progress);

} // namespace tilefuse::data
