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
  std::vector<program::BufferId> buffers;  // by slot
};

// Flattens one statement (contraction or map) with storage applied. Index ranges come from the subscripts and constraints
// by exact reasoning; constraints implied by the box disappear; one-point indices are dropped; a dimension whose
// subscript can leave its range becomes guarded. A statement that does not write its whole tensor over an `init` yields
// a copy nest first (unless init and result share storage); zero-filling is Buffer::needs_zero. Rational or compound output subscripts need
// defract and are Error{Unsupported} for now.
std::vector<FlatStatement> flatten(const program::StoredProgram& stored, const program::Statement& statement);

// Fuses index i into j where every operand steps through (j, i) contiguously (stride_i * extent_i = stride_j), so that a 1x1
// convolution has one pixel index and a map one index at all. Guarded dimensions block it.
Nest merge_indices(const Nest& nest);

// Oracle 1: the nest in double precision over typed buffers (elements rounded to the slot's type on store only).
// `slots` are raw element arrays by slot, row sizes as declared.
void evaluate(const Nest& nest, std::span<const std::span<std::byte>> slots);

}  // namespace tilefuse::nest
