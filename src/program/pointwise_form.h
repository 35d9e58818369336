// SPDX-License-Identifier: Apache-2.0
// Contractions that aggregate nothing: written with indices, although a statement on whole tensors says the same. Such a
// contraction is a kernel of its own, where the pointwise statement would join the kernel before it.
//
//   U[n, m, y, x : N, M, H, W] = =(T[n, m, y, x] + B[m])    is    U = T + reshape(B, 1, 32, 1, 1)
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct PointwiseForm {
  std::size_t statement = 0;
  std::vector<std::string> operands; // as Tile texts: "T", "reshape(B, 1, 32, 1, 1)"
};

// Of every contraction whose result has each of its indices once, in order, and whose operands have theirs in the same
// order, one at least of them computed by another statement.
std::vector<PointwiseForm> pointwise_forms(const Program &program);

} // namespace tilefuse::program
