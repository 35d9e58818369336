// SPDX-License-Identifier: Apache-2.0
// The statements of some nests as the polyhedral model sees them: instances, what each reads and
// writes, and when it runs. A map is one statement; a contraction is the initialisation of its
// results, one addition per point, and a post-op where it has one.
//
//   S0[h, w] -> (0, h, w)                       Q[h, w] = … A[h, w]
//   S1[h, w] -> (1, h, w, 0)                    C[h, w] = initial value
//   S2[h, w, kh, kw] -> (1, h, w, 1, kh, kw)    C[h, w] = C[h, w] + Q[h + kh, w + kw] * K[kh, kw]
//   S3[h, w] -> (2, h, w)                       O[h, w] = … C[h, w]
//
// Elements are those of tensors, by their subscripts; where tensors share a buffer in different
// ways, of the buffer, by their place in it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "program/storage/storage.h"

namespace tilefuse::poly {

// Elements that one statement reads or writes: `Q[h + kh, w + kw]`.
struct ScopAccess {
  std::string memory;
  std::vector<std::string> subscripts; // in the statement's indices, or names bound below
  std::vector<std::string> bounds;     // of subscripts that only the data tell
  friend bool operator==(const ScopAccess &, const ScopAccess &) = default;
};

struct ScopStatement {
  std::string name;                 // S0
  std::vector<std::string> indices; // of an instance
  std::vector<std::string> bounds;  // "0 <= h < 8", also of subscripts that can leave their range
  std::vector<std::string> time;    // "1", "h", "w", "0"; later ones are 0
  std::vector<ScopAccess> reads;
  ScopAccess write;
  std::size_t nest = 0;      // which of the nests it is part of
  bool is_reduction = false; // reads what it writes, in any order
  bool is_pure = true;       // the same result however often it runs
  friend bool operator==(const ScopStatement &, const ScopStatement &) = default;
};

struct Scop {
  std::vector<ScopStatement> statements;
  std::vector<std::string> asked_for; // memory of the program's outputs, where it is of a program
  friend bool operator==(const Scop &, const Scop &) = default;
};

// A nest with the name of the memory that each of its slots is.
struct ScopNest {
  const nest::Nest *nest = nullptr;
  std::vector<std::string> memory; // by slot
  std::vector<bool> by_place;      // by slot: elements are places in a buffer
};

// The nests run in the order in which they are given.
Scop make_scop(std::span<const ScopNest> nests);

// Every statement of a program. `in_place` names tensors that lie where the first operand of their
// statement of the same shape lies.
Scop make_scop(const program::StoredProgram &stored, std::span<const std::string> in_place = {});

// "{ S0[h, w] : 0 <= h < 8 and 0 <= w < 8; … }", of the statements that `chosen` has, all of them
// where it is empty.
using Chosen = std::vector<std::string>;
std::string domain_text(const Scop &scop, const Chosen &chosen = {});
std::string reads_text(const Scop &scop, const Chosen &chosen = {});
std::string writes_text(const Scop &scop, const Chosen &chosen = {});
// To time stamps of equal length.
std::string schedule_text(const Scop &scop, const Chosen &chosen = {});

// "S1[h, w]" and "(1, h, w, 0)".
std::string instance_text(const ScopStatement &statement);
std::string time_text(const ScopStatement &statement);

} // namespace tilefuse::poly
