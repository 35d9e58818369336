// SPDX-License-Identifier: Apache-2.0
// CUDA devices.
#pragma once

#include <span>

#include "runtime/cuda/cuda_api.h"
#include "runtime/device.h"
#include "runtime/hooks.h"
#include "target/device_rows.h"

namespace tilefuse::runtime {

std::vector<DeviceEntry> list_cuda_devices();
// `selector` is "cuda" or "cuda:N". Error{Device} says what there is.
std::unique_ptr<Device> make_cuda_device(const std::string &selector,
                                         const std::vector<Target> &rows, const Hooks &hooks = {},
                                         std::span<const MeasuredRow> measured = {});

// For libraries that queue work of their own: the stream of a CUDA device, whose context becomes the
// calling thread's, and where a binding of its memory lies.
cuda::Stream cuda_stream(Device &device);
cuda::DevicePtr cuda_address(const Binding &binding);

} // namespace tilefuse::runtime
