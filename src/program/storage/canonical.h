// SPDX-License-Identifier: Apache-2.0
// The form of a program that storage is assigned to, and who uses what in it.
#pragma once

#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program. Ensures: a view's source is no view; a view of a constant is a
// constant; each output is a temporary of its own, neither an input, nor a view of an input, nor a
// view of (or the same as) another output. Copies that this takes stand at the end (origin
// "output").
Program canonicalize(const Program &program);

// By TensorId, for a canonical program; statements by position.
struct Uses {
  std::vector<int> definition; // -1: none
  std::vector<int> reads;      // by contractions and maps; each operand counts, views do not
  std::vector<std::vector<TensorId>> views; // in program order
  std::vector<TensorId> source;             // of a view; else the tensor itself
  std::vector<bool> is_output;
};
Uses uses_of(const Program &program);

} // namespace tilefuse::program
