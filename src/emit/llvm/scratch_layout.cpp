// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/scratch_layout.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::emit::native {
namespace {

constexpr std::int64_t kScratchAlign = 64;

[[noreturn]] void too_large(const kernel::Buffer &buffer) {
  throw Error(ErrorCode::Limit,
              fmt::format("buffer '{}' of {} {} elements does not fit 64 bits", buffer.name,
                          buffer.elems, to_string(buffer.type.elem)));
}

} // namespace

std::int64_t buffer_bytes(const kernel::Buffer &buffer) {
  std::int64_t bytes = 0;
  if (buffer.elems < 0 ||
      __builtin_mul_overflow(buffer.elems, size_bytes(buffer.type.elem), &bytes))
    too_large(buffer);
  return bytes;
}

ScratchLayout layout_scratch(const kernel::Kernel &kernel) {
  ScratchLayout layout;
  for (const kernel::Buffer &buffer : kernel.buffers) {
    if (buffer.space != kernel::Space::Local) {
      layout.offsets.push_back(0);
      continue;
    }
    layout.offsets.push_back(layout.bytes);
    std::int64_t end = 0;
    if (__builtin_add_overflow(layout.bytes, buffer_bytes(buffer), &end) ||
        __builtin_add_overflow(end, kScratchAlign - 1, &end))
      too_large(buffer);
    layout.bytes = end / kScratchAlign * kScratchAlign;
  }
  return layout;
}

} // namespace tilefuse::emit::native
