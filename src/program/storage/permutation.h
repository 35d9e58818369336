// SPDX-License-Identifier: Apache-2.0
// Copies that permute the dimensions of a whole tensor and do nothing else: where both tensors'
// layouts place every element alike, such a copy moves nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Permutation {
  TensorId in{};
  std::vector<std::size_t> dims; // of the result: the dimension of `in` that each is
};
std::optional<Permutation> as_permutation(const Program &program, const Statement &statement);

// The strides of `in` under which it lies where a result of these strides does.
Shape permuted_back(const Permutation &permutation, const Shape &strides);

} // namespace tilefuse::program
