// SPDX-License-Identifier: Apache-2.0
// The one sentence that a device says when it is full: what was needed and what was free. Nothing
// was taken, so the program that catches it goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime {

// "the cpu is out of memory: 1024 bytes are needed, 512 of 2048 are free"
inline Error out_of_memory(std::string_view device, std::int64_t needed, std::int64_t free,
                           std::int64_t total) {
  return Error(ErrorCode::Device,
               fmt::format("{} is out of memory: {} bytes are needed, {} of {} are free", device,
                           needed, free, total));
}

} // namespace tilefuse::runtime
