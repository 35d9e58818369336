// SPDX-License-Identifier: Apache-2.0
// One statement of a program on host tensors, by flattening it and running the evaluator.
#pragma once

#include <span>

#include "program/host_tensor.h"

namespace tilefuse::nest {

// The result of `statement`. `data` holds the row-major elements of each tensor it reads, by
// TensorId; other entries may be null. Views copy.
program::HostTensor run_statement(const program::Program &program,
                                  const program::Statement &statement,
                                  std::span<const program::Bytes *const> data);

} // namespace tilefuse::nest
