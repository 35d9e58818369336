// SPDX-License-Identifier: Apache-2.0
// Random contractions and their result by the definition: every integer tuple of a box that holds
// all that count is tried. Subscripts are any rational forms of up to eight indices.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "nest/stored.h"

namespace tilefuse::test {

// How the result lies in memory.
enum class Neighbours {
  None,  // alone in its buffer
  Shared // another statement writes into the same buffer
};

// One contraction, statement 0 of the program, with storage applied: dimensions in any order, gaps
// between them, space before the first element.
struct RandomContraction {
  program::StoredProgram stored;
  std::vector<std::pair<std::int64_t, std::int64_t>> box; // of every index, inclusive
  Neighbours neighbours = Neighbours::None;

  const program::Contraction &body() const {
    return std::get<program::Contraction>(stored.program.statements[0].body);
  }
  program::TensorId out() const { return stored.program.statements[0].out; }
};

RandomContraction random_contraction(unsigned seed);

// What the definition says of a result: row-major values, and which elements some tuple writes.
struct Defined {
  std::vector<double> values;
  std::vector<bool> written;
  std::int64_t points = 0; // tuples that count
};

Defined by_definition(const RandomContraction &contraction, const Memory &memory);

} // namespace tilefuse::test
