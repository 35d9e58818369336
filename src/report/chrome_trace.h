// SPDX-License-Identifier: Apache-2.0
// A run of a network as a Chrome trace (chrome://tracing, Perfetto): one complete event per kernel
// with its name, nodes, schedule, bytes, operations and share of the device's roofline.
#pragma once

#include <span>
#include <string>

#include "model/session_stats.h"

namespace tilefuse::report {

// JSON text; times in microseconds since the first kernel began. `device` names the process.
std::string chrome_trace(const std::string &device, std::span<const model::KernelReport> kernels);

} // namespace tilefuse::report
