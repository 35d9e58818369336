// SPDX-License-Identifier: Apache-2.0
// From programs to nests, and the exact rewriting of both.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nest/nest.h"
#include "program/storage/storage.h"

namespace tilefuse::nest {

struct FlatStatement {
  Nest nest;
  Indexed<SlotId, program::BufferId> buffers;
};

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

// Fuses an index i into j where every operand that uses them steps through (j, i) contiguously:
// stride_j = extent_i * stride_i. A 1x1 convolution then has one pixel index and most maps one
// index at all. Guarded dimensions and constraints block it.
Nest merge_indices(const Nest &nest);
// Output indices, slowest first, as one that counts their points in that order; nothing where some
// operand does not lie so. `at` tells by index of the nest which it became.
struct MergedNest {
  Nest nest;
  std::vector<int> at;
};
std::optional<MergedNest> merge_into_one(const Nest &nest, const std::vector<int> &indices);
// The reverse: an output or reduced index becomes an outer and an inner one of `inner` points.
// Dimensions that it walks alone are taken apart too.
Nest split_index(const Nest &nest, int index, std::int64_t inner);

// Oracle 1: the nest in double precision over typed buffers (elements rounded to the slot's type on
// store only; casts to integers truncate). `slots` are the elements by slot, as long as declared.
// Throws Error{Shape|Limit}: an invalid nest, buffers that are too small, no memory.
void evaluate(const Nest &nest, std::span<const std::span<std::byte>> slots);

} // namespace tilefuse::nest
