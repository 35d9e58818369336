// SPDX-License-Identifier: Apache-2.0
// Matrix instructions and asynchronous copies of NVIDIA GPUs (sm_80 and later), as inline PTX.
#pragma once

#include "emit/c/c_like.h"

namespace tilefuse::emit {

extern const MatrixDialect kCudaMatrix;

} // namespace tilefuse::emit
