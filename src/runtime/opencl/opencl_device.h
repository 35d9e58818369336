// SPDX-License-Identifier: Apache-2.0
// OpenCL devices.
#pragma once

#include <span>

#include "runtime/device.h"
#include "runtime/hooks.h"
#include "target/device_rows.h"

namespace tilefuse::runtime {

std::vector<DeviceEntry> list_opencl_devices();
// `selector` is "opencl", "opencl:P" or "opencl:P:D" with numbers or parts of names. Error{Device}
// says what there is.
std::unique_ptr<Device> make_opencl_device(const std::string &selector,
                                           const std::vector<Target> &rows, const Hooks &hooks = {},
                                           std::span<const MeasuredRow> measured = {});

} // namespace tilefuse::runtime
