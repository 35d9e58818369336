// SPDX-License-Identifier: Apache-2.0
// What kernels are generated for on an OpenCL device.
#pragma once

#include "runtime/opencl/opencl_platform.h"

namespace tilefuse::runtime {

// The row of `rows` for this kind of device, or built-in values, with what the driver reports put
// in.
Target target_of(const OpenclDeviceInfo &info, const std::vector<Target> &rows);

} // namespace tilefuse::runtime
