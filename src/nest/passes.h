// SPDX-License-Identifier: Apache-2.0
// From programs to nests, and the exact rewriting of both.
#pragma once

#include <span>
#include <vector>

#include "nest/nest.h"
#include "program/storage.h"

namespace tilefuse::nest {

struct FlatStatement {
  Nest nest;
  std::vector<program::BufferId> buffers; // by slot
};

// Flattens one statement (contraction or map) with storage applied; no nest where nothing is
// written. Index ranges come from the subscripts and constraints by exact reasoning; constraints
// implied by the box disappear; one-point indices are dropped; a dimension whose subscript can
// leave its range becomes guarded. A statement that does not write its whole tensor over an `init`
// yields a copy nest first (unless init and result share storage); zero-filling is
// Buffer::needs_zero. Error{Shape} names an unbounded index; rational or compound output
// subscripts, which need defract, are Error{Unsupported}.
std::vector<FlatStatement> flatten(const program::StoredProgram &stored,
                                   const program::Statement &statement);

// Fuses an index i into j where every operand that uses them steps through (j, i) contiguously:
// stride_j = extent_i * stride_i. A 1x1 convolution then has one pixel index and most maps one
// index at all. Guarded dimensions and constraints block it.
Nest merge_indices(const Nest &nest);

// Oracle 1: the nest in double precision over typed buffers (elements rounded to the slot's type on
// store only; casts to integers truncate). `slots` are the elements by slot, as long as declared.
// Throws Error{Shape|Limit}: an invalid nest, buffers that are too small, no memory.
void evaluate(const Nest &nest, std::span<const std::span<std::byte>> slots);

} // namespace tilefuse::nest
