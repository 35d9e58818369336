// SPDX-License-Identifier: Apache-2.0
// Matrix instructions and asynchronous copies of NVIDIA GPUs (sm_80 and later), as inline PTX.
#pragma once

#include "emit/c/c_like.h"

namespace tilefuse::emit {

// A type of the instruction's operands in PTX: "f16", "s8"; "tf32" where it reads f32 so.
std::string ptx_type(const CoreOp &op, DType type);

extern const MatrixDialect kCudaMatrix;

} // namespace tilefuse::emit
