// SPDX-License-Identifier: Apache-2.0
// Statements and programs on host tensors, by flattening them and running the evaluator.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "program/host_tensor.h"

namespace tilefuse::nest {

// The result of `statement`. `data` holds the row-major elements of each tensor it reads, by
// TensorId; other entries may be null. Views copy.
program::HostTensor run_statement(const program::Program &program,
                                  const program::Statement &statement,
                                  std::span<const program::Bytes *const> data);

// The reference result of a whole program: each statement by the evaluator. Inputs by name.
// Row-major outputs in order. Throws Error{Shape|Type} for a missing input or one of another shape
// or type.
std::vector<program::HostTensor>
evaluate_program(const program::Program &program,
                 const std::map<std::string, program::HostTensor> &inputs);

} // namespace tilefuse::nest
