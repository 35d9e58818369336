// SPDX-License-Identifier: Apache-2.0
// Where tensors lie: each tensor is a strided window of a buffer. Layouts are strides (NHWC is a permutation of them), a
// view is a window of its source's buffer, a piece of a concatenation is a slice of the whole's.
//
// assign_storage picks channels-last for temporaries of rank >= 3 (dimension 1 gets stride 1), row-major for inputs,
// outputs, constants and everything else; where a view needs another order than its source has, it inserts an identity
// contraction (origin "layout"). A chain of inserts (contractions with `init` that copy a box) shares one buffer, and
// a producer whose only reader is such a copy writes its slice directly: the copy is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

enum class BufferId : int {};
constexpr int to_int(BufferId id) { return static_cast<int>(id); }

struct Buffer {
  DType type = DType::F32;
  std::int64_t elems = 0;
  Role role = Role::Temporary;
  bool is_output = false;
  bool needs_zero = false;  // some element is read or returned that no statement writes
};

// Element (d0, d1, …) lies at offset + sum of d * strides, in elements of the buffer.
struct Window {
  BufferId buffer{};
  std::int64_t offset = 0;
  Shape strides;
};

// A program without views that move no data, and the window of each of its tensors.
struct StoredProgram {
  Program program;                // statements: contractions and maps only
  std::vector<Window> windows;    // by TensorId
  std::vector<Buffer> buffers;    // by BufferId
};

StoredProgram assign_storage(const Program& program);

}  // namespace tilefuse::program
