// SPDX-License-Identifier: Apache-2.0
#include "poly/joinable.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "poly/group_buffers.h"

namespace tilefuse::poly {

using program::BufferId;

Joinable::Joinable(std::vector<PlacedGroup> groups, const program::StoredProgram &stored)
    : stored_(stored) {
  for (PlacedGroup &placed : groups)
    groups_.emplace_back(std::move(placed));
}

std::optional<std::size_t> Joinable::writer(BufferId buffer) const {
  const program::Buffer &info = stored_.buffers[at(buffer)];
  std::optional<std::size_t> found;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g] || !writes(*groups_[g], buffer))
      continue;
    if (found)
      return std::nullopt;
    found = g;
  }
  const bool is_inner = info.role == program::Role::Temporary && !info.is_output &&
                        !info.needs_zero && found && groups_[*found]->group.producers.empty();
  return is_inner ? found : std::nullopt;
}

bool Joinable::are_alone(const Found &found, std::size_t c) const {
  for (const std::size_t m : found)
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g] && g != c && found.count(g) == 0 &&
          read_buffers(*groups_[g]).count(written_buffer(*groups_[m])) > 0)
        return false;
  return true;
}

bool Joinable::are_overtaken(const Found &found, std::size_t c) const {
  for (const std::size_t m : found)
    for (const BufferId read : read_buffers(*groups_[m]))
      for (std::size_t g = m + 1; g < c; ++g)
        if (groups_[g] && found.count(g) == 0 && writes(*groups_[g], read))
          return true;
  return false;
}

std::vector<PlacedGroup *> Joinable::apart(std::size_t c, const Found &found) {
  std::vector<PlacedGroup *> apart = {&*groups_[c]};
  for (auto m = found.rbegin(); m != found.rend(); ++m)
    apart.push_back(&*groups_[*m]);
  return apart;
}

void Joinable::join(std::size_t c, const Found &found, PlacedGroup joined) {
  groups_[c] = std::move(joined);
  for (const std::size_t m : found)
    groups_[m].reset();
}

std::vector<PlacedGroup> Joinable::left() && {
  std::vector<PlacedGroup> left;
  for (std::optional<PlacedGroup> &group : groups_)
    if (group)
      left.push_back(std::move(*group));
  return left;
}

} // namespace tilefuse::poly
