// SPDX-License-Identifier: Apache-2.0
// The device that a selector names: "opencl" (the best usable device: GPU, then accelerator, then
// CPU), "opencl:P" or "opencl:P:D", where P and D are numbers as listed or parts of a name in any
// case: "opencl:pocl", "opencl:nvidia:1".
#pragma once

#include "runtime/opencl/opencl_platform.h"

namespace tilefuse::runtime {

// The device that `selector` means. Error{Device} says what there is.
OpenclDeviceInfo select_device(const std::vector<OpenclDeviceInfo> &devices,
                               const std::string &selector);

} // namespace tilefuse::runtime
