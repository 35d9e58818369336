// SPDX-License-Identifier: Apache-2.0
// Contractions and element-wise shapes → Flat (plaidml_flat.h), before anything is fused.
#pragma once

#include <vector>

#include "cost/plaidml/plaidml_flat.h"
#include "cost/plaidml/plaidml_program.h"
#include "program/storage/storage.h"

namespace tilefuse::cost::plaidml {

// The result's subscripts: per dimension one coefficient per index of the kernel.
using Subscripts = std::vector<std::vector<std::int64_t>>;

struct Flattened {
  Flat flat;
  Subscripts out;
};

// Every tensor of the program row-major in a buffer of its own, by the names of `list`.
program::StoredProgram row_major_storage(const program::Program &program, const OpList &list);

// The kernels of a contraction: one, but for rational subscripts, which the nest level may split
// into several. Ranges are the exact ones: no index takes a value at which no point takes part.
std::vector<Flattened> flatten_contraction(const program::StoredProgram &stored,
                                           const program::Statement &statement);

// Indices i1, i2, … over every dimension of a tensor.
Flattened flatten_elementwise(const Value &value);

// Strides with which a fused operation reads `value`: those of the result where it has as many
// elements, else right-aligned broadcasting.
Access post_input(const Flattened &kernel, const Value &value, const program::Shape &result);

// Whether the contraction leaves some element of its result unwritten, or writes it in a way that
// PlaidML does not see through: then the result is cleared (or copied) first and nothing is fused.
bool needs_zero(const Flat &flat);

} // namespace tilefuse::cost::plaidml
