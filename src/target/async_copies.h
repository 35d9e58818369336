// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies from global to local memory: NVIDIA GPUs from compute capability 8.0 on,
// through CUDA and, as inline assembly, through their OpenCL. A target says so by its isa:
// "sm_90a", "CL1.2 sm_89".
#pragma once

#include "target/target.h"

namespace tilefuse {

bool has_async_copies(const Target &target);

} // namespace tilefuse
