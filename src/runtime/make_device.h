// SPDX-License-Identifier: Apache-2.0
// A device by its selector.
#pragma once

#include <span>

#include "runtime/device.h"
#include "runtime/hooks.h"
#include "target/device_rows.h"

namespace tilefuse::runtime {

// "cpu", "cpu:INSTRUCTIONS" (cpu/host_target.h), or what make_opencl_device and make_cuda_device take; `threads` is the CPU's.
// The figures of a row that was measured on the device go before those stated of its kind.
std::unique_ptr<Device> make_device(const std::string &selector, int threads,
                                    const std::vector<Target> &rows, const Hooks &hooks = {},
                                    std::span<const MeasuredRow> measured = {});

} // namespace tilefuse::runtime
