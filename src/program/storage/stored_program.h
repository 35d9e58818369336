// SPDX-License-Identifier: Apache-2.0
// A program whose tensors have places in memory (storage.h says which).
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.h"
#include "program/program.h"

namespace tilefuse::program {

enum class BufferId : int {};

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

} // namespace tilefuse::program
