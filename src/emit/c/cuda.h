// SPDX-License-Identifier: Apache-2.0
// CUDA C++ from kernels.
#pragma once

#include "emit/emitter.h"

namespace tilefuse::emit {

// The emitter of targets whose back end is "cuda".
std::unique_ptr<Emitter> make_cuda_emitter();

} // namespace tilefuse::emit
