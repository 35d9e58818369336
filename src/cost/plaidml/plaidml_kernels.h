// SPDX-License-Identifier: Apache-2.0
// A program cut into kernels as PlaidML cut it. Each contraction, and each element-wise operation
// that no kernel has taken yet, begins one. It takes along every element-wise operation of as many
// elements that is reached through its inputs or through what it holds already, with the producers
// these need, as long as all other inputs are there and have the result's size or broadcast to it
// right-aligned. Renames cost nothing. A contraction that does not write its whole result plainly
// takes nothing along.
#pragma once

#include <string>
#include <vector>

#include "cost/plaidml/plaidml_flat.h"
#include "program/program.h"

namespace tilefuse::cost::plaidml {

struct Kernel {
  std::vector<std::size_t> statements; // of the program, by position
  std::string contraction;             // as Tile text, empty for element-wise kernels
  std::vector<std::string> post_ops;   // "R = cond(X_T1, O, 0)"
  std::vector<std::string> outputs;    // names of tensors written
  bool clears_first = false;           // a kernel of its own zeroes or copies the result before
  Flat flat;                           // not prepared yet
};

// In launch order. Throws what flattening throws.
std::vector<Kernel> kernels(const program::Program &program);

} // namespace tilefuse::cost::plaidml
