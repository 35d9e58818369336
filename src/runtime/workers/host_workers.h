// SPDX-License-Identifier: Apache-2.0
// Workers whose devices' memory travels by way of the host: any device, by what moves bytes of the
// host between them, MPI or the connections of their star.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "runtime/workers.h"

namespace tilefuse::runtime {

// As the calls of Workers, of host memory.
struct HostTransport {
  int rank = 0;
  int count = 1;
  std::function<void(std::span<const std::byte> from, std::span<std::byte> to)> swap_parts;
  std::function<void(std::span<std::byte> all)> gather_parts;
  std::function<void(std::span<float> all)> sum;
};

// The device outlives the result.
std::unique_ptr<Workers> make_host_workers(HostTransport transport, Device &device);

} // namespace tilefuse::runtime
