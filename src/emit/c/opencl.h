// SPDX-License-Identifier: Apache-2.0
// OpenCL C 1.2 from kernels.
#pragma once

#include "emit/emitter.h"

namespace tilefuse::emit {

// The emitter of targets whose back end is "opencl".
std::unique_ptr<Emitter> make_opencl_emitter();

} // namespace tilefuse::emit
