// SPDX-License-Identifier: Apache-2.0
// CUDA devices.
#pragma once

#include "runtime/device.h"

namespace tilefuse::runtime {

std::vector<DeviceEntry> list_cuda_devices();
// `selector` is "cuda" or "cuda:N". Error{Device} says what there is.
std::unique_ptr<Device> make_cuda_device(const std::string &selector,
                                         const std::vector<Target> &rows);

} // namespace tilefuse::runtime
