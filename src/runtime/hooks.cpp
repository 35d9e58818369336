// SPDX-License-Identifier: Apache-2.0
#include "runtime/hooks.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime {

std::shared_ptr<void> allocate(const Hooks &hooks, std::string_view device, std::int64_t bytes,
                               std::int64_t alignment) {
  const auto size = static_cast<std::size_t>(bytes);
  void *memory = hooks.allocate(size, static_cast<std::size_t>(alignment));
  if (memory == nullptr)
    throw Error(ErrorCode::Device,
                fmt::format("the caller's allocator gave {} no memory: {} bytes are needed", device,
                            bytes));
  std::shared_ptr<void> owner(memory, [release = hooks.release, size](void *given) {
    if (release)
      release(given, size);
  });
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (address % static_cast<std::uintptr_t>(alignment) != 0)
    throw Error(ErrorCode::Device,
                fmt::format("the caller's allocator gave {} memory at {:#x}; need a multiple of {}",
                            device, address, alignment));
  return owner;
}

} // namespace tilefuse::runtime
