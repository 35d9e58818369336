// SPDX-License-Identifier: Apache-2.0
// The groups of a program of which some join a later one: who makes a buffer, who else reads it, and
// whether groups may be moved to where a later one stands.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "poly/group.h"
#include "program/storage/storage.h"

namespace tilefuse::poly {

class Joinable {
public:
  using Found = std::set<std::size_t>; // groups, by number

  // Of groups in an order in which they can run; keeps a reference to the program.
  Joinable(std::vector<PlacedGroup> groups, const program::StoredProgram &stored);

  std::size_t size() const { return groups_.size(); }
  bool is_there(std::size_t g) const { return groups_[g].has_value(); }
  PlacedGroup &operator[](std::size_t g) { return *groups_[g]; }
  const PlacedGroup &operator[](std::size_t g) const { return *groups_[g]; }

  // The group without producers that alone writes a buffer which nothing outside the program sees.
  std::optional<std::size_t> writer(program::BufferId buffer) const;
  // Whether only they and the group at c read what they write.
  bool are_alone(const Found &found, std::size_t c) const;
  // Whether a group between one of them and that at c writes what it reads.
  bool are_overtaken(const Found &found, std::size_t c) const;

  // The group at c and then `found`, the last first.
  std::vector<PlacedGroup *> apart(std::size_t c, const Found &found);
  // One group in the place of that at c and of `found`.
  void join(std::size_t c, const Found &found, PlacedGroup joined);
  // Those that joined no other.
  std::vector<PlacedGroup> left() &&;

private:
  const program::StoredProgram &stored_;
  std::vector<std::optional<PlacedGroup>> groups_; // nothing where one joined a later one
};

} // namespace tilefuse::poly
