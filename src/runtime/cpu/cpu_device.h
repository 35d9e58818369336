// SPDX-License-Identifier: Apache-2.0
// The processor as a device.
#pragma once

#include "runtime/device.h"
#include "runtime/hooks.h"

namespace tilefuse::runtime {

std::unique_ptr<Device> make_cpu_device(int threads, // 0: one per available core
                                        const Hooks &hooks = {});

} // namespace tilefuse::runtime
