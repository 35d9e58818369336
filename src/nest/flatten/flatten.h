// SPDX-License-Identifier: Apache-2.0
// From programs to nests.
#pragma once

#include <vector>

#include "nest/flatten/flat_statement.h"

namespace tilefuse::nest {

// Flattens one statement (contraction or map) with storage applied, into nests that write disjoint
// pieces of the result (pieces.h). Subscripts may be any rational affine forms: reduce.h makes the
// result's coordinates the output indices, defract.h leaves no modulo, residues.h keeps the classes
// of a strided result apart. Ranges are exact; constraints implied by the box disappear; one-point
// indices are dropped; a dimension whose subscript can leave its range becomes guarded.
//
// A result that has its buffer to itself is written whole, with 0 where nothing is computed, as far
// as program::spans_result says; other zeros are Buffer::needs_zero. One that shares its buffer is
// written in the smallest box around what is computed, one over an `init` exactly where something
// is computed, after a nest that copies the init unless it lies in the same place.
//
// Error{Shape} names an unbounded index, an element that is assigned repeatedly, and the conditions
// that leave no point at all; Error{Limit} numbers that are too large.
std::vector<FlatStatement> flatten(const program::StoredProgram &stored,
                                   const program::Statement &statement);

} // namespace tilefuse::nest
