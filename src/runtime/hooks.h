// SPDX-License-Identifier: Apache-2.0
// What a device takes from its caller: where memory comes from, and the queue that it works in. Both
// are as the driver has them, an address of the host or of CUDA, a cl_mem; a CUstream, a
// cl_command_queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace tilefuse::runtime {

struct Hooks {
  // Memory of so many bytes whose address is a multiple of `alignment`; null: there is none. No
  // function: the device's own memory.
  std::function<void *(std::size_t bytes, std::size_t alignment)> allocate;
  std::function<void(void *memory, std::size_t bytes)> release;
  void *queue = nullptr; // of the caller, who keeps it for as long; null: the device's own
};

// Memory of the caller's allocator, which goes back with its last owner. Error{Device} where it gives
// none, or another alignment.
std::shared_ptr<void> allocate(const Hooks &hooks, std::string_view device, std::int64_t bytes,
                               std::int64_t alignment);

} // namespace tilefuse::runtime
