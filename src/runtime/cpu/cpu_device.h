// SPDX-License-Identifier: Apache-2.0
// The processor as a device.
#pragma once

#include <span>
#include <string_view>

#include "runtime/device.h"
#include "runtime/hooks.h"
#include "target/device_rows.h"

namespace tilefuse::runtime {

// `threads` 0: one per available core. `instructions` as host_target.h has them, "": the best.
std::unique_ptr<Device> make_cpu_device(int threads, const Hooks &hooks = {},
                                        std::string_view instructions = {},
                                        std::span<const MeasuredRow> measured = {});

} // namespace tilefuse::runtime
