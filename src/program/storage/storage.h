// SPDX-License-Identifier: Apache-2.0
// Where tensors lie: each tensor is a strided window of a buffer. Layouts are strides (NHWC is a
// permutation of them), a view is a window of its source's buffer, a piece of a concatenation is a
// slice of the whole's.
//
// assign_storage picks
// - row-major for inputs, outputs and constants; with Layout::Nhwc channels-last for temporaries of
//   rank >= 3 around a convolution (its channels, which are dimension 1 or for groups dimensions 1
//   and 2, lie innermost); row-major for other temporaries. A tensor that is only read through
//   views takes the layout they want.
// - one window for a view and its source where strides can express it; else an identity contraction
//   (origin "layout") copies the source to where they can.
// - one buffer for a chain of inserts (contractions whose `init` nothing else reads), and for the
//   tensors that the chain's contractions copy whole into disjoint boxes: their producers write the
//   slice directly and the copy is dropped. A tensor may thus be defined through another's window,
//   and has no statement of its own.
//
//   program "fire" { … }
//   buffer 0 temporary f32 401408
//   buffer 1 output f32 1000 zero
//   window %7 = 0 + 64 [401408, 1, 7168, 128]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/storage/layout.h"
#include "program/storage/stored_program.h"

namespace tilefuse::program {

// Verifies the program first; constants that share data share a buffer. Throws what verify throws.
StoredProgram assign_storage(const Program &program, Layout layout = Layout::Nhwc);

// Statements that only move elements from one layout to another.
int conversions(const StoredProgram &stored);

// Throws Error{Shape} when a tensor in use has no window, a window leaves its buffer, or an output
// is not alone in its.
void verify(const StoredProgram &stored);

// The program, its buffers and its windows; for reading.
std::string to_text(const StoredProgram &stored);

} // namespace tilefuse::program
