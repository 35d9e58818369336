// SPDX-License-Identifier: Apache-2.0
// Where tensors lie: each tensor is a strided window of a buffer. Layouts are strides (NHWC is a
// permutation of them), a view is a window of its source's buffer, a piece of a concatenation is a
// slice of the whole's.
//
// assign_storage picks
// - row-major for inputs, outputs and constants; with Layout::Nhwc channels-last for temporaries of
// rank >= 3 around a convolution (its
//   channels, which are dimension 1 or for groups dimensions 1 and 2, lie innermost); row-major for
//   other temporaries. A tensor that is only read through views takes the layout they want.
// - one window for a view and its source where strides can express it; else an identity contraction
// (origin "layout")
//   copies the source to where they can.
// - one buffer for a chain of inserts (contractions whose `init` nothing else reads), and for the
// tensors that the chain's
//   contractions copy whole into disjoint boxes: their producers write the slice directly and the
//   copy is dropped. A tensor may thus be defined through another's window, and has no statement of
//   its own.
//
//   program "fire" { … }
//   buffer 0 temporary f32 401408
//   buffer 1 output f32 1000 zero
//   window %7 = 0 + 64 [401408, 1, 7168, 128]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/layout.h"
#include "program/program.h"

namespace tilefuse::program {

enum class BufferId : int {};
constexpr int to_int(BufferId id) { return static_cast<int>(id); }

// Of tensors that no statement reads or writes and that are neither input, constant nor output.
constexpr BufferId kNoBuffer{-1};

struct Buffer {
  DType type = DType::F32;
  std::int64_t elems = 0;
  Role role =
      Role::Temporary; // a Constant buffer holds the data of any tensor that has its window there
  bool is_output =
      false; // holds exactly one output of the program, row-major from its first element
  bool needs_zero = false; // some element is read or returned that no statement writes
};

// Element (d0, d1, …) lies at offset + sum of d * strides, in elements of the buffer.
struct Window {
  BufferId buffer{};
  std::int64_t offset = 0;
  Shape strides;
};

// A program without views, and the window of each of its tensors.
struct StoredProgram {
  Program program;             // statements: contractions and maps only
  std::vector<Window> windows; // by TensorId
  std::vector<Buffer> buffers; // by BufferId
};

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
