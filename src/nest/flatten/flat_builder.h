// SPDX-License-Identifier: Apache-2.0
// What flattening a contraction and flattening a map share: slots by buffer, index names, the
// nest's name.
#pragma once

#include <set>
#include <string>

#include "nest/flatten/flat_statement.h"

namespace tilefuse::nest {

// Collects the parts of one nest over a stored program, which must outlive it.
class FlatBuilder {
public:
  explicit FlatBuilder(const program::StoredProgram &stored) : stored_(stored) {}

  Nest &nest() { return flat_.nest; }
  // Adds an index named like `wanted`: letters, digits and `_` only, unlike every other.
  void add_index(const std::string &wanted, std::int64_t extent);
  // The tensor's slot, offset and constness; no dimensions. Slots are numbered in order of first
  // use.
  Operand operand(program::TensorId tensor);
  // Checks the nest. `origin` names the statement in errors.
  FlatStatement finish(const std::string &origin);

private:
  const program::StoredProgram &stored_;
  FlatStatement flat_;
  std::set<std::string> names_;
};

// A name for what the nest computes, from its structure alone: conv, dwconv, matmul, mul, maxpool,
// sum, copy, …
std::string stem(const Nest &nest);

} // namespace tilefuse::nest
