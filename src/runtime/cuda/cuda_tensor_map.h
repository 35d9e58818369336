// SPDX-License-Identifier: Apache-2.0
// Tensor maps of a package, encoded by the driver for the memory that they are bound to.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "package/package.h"
#include "runtime/cuda/cuda_api.h"

namespace tilefuse::runtime {

// CUtensorMap: a parameter of the kernel.
struct alignas(128) EncodedMap {
  std::array<std::uint64_t, 16> words{};
};

// For an argument that starts at `base`; needs a current context. Throws Error{Device} with the
// driver's reason and the kernel's name.
EncodedMap encode_map(const cuda::DriverApi &api, const TensorView &view, cuda::DevicePtr base,
                      std::string_view kernel);

} // namespace tilefuse::runtime
