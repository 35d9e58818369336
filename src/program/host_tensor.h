// SPDX-License-Identifier: Apache-2.0
// A tensor in host memory: inputs and outputs of a model, constants, and what the evaluator
// computes. Row-major.
#pragma once

#include <string>

#include "program/program.h"

namespace tilefuse::program {

struct HostTensor {
  std::string name;
  DType type = DType::F32;
  Shape shape;
  Bytes data; // elems(shape) * size_bytes(type)
};

// Zeros. Throws Error{Limit} when the size overflows or cannot be allocated.
HostTensor make_host_tensor(std::string name, DType type, Shape shape);
double get(const HostTensor &tensor, std::int64_t i);
void set(HostTensor &tensor, std::int64_t i, double value);
HostTensor convert(const HostTensor &tensor, DType type);

} // namespace tilefuse::program
