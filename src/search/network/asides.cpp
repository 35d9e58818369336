// SPDX-License-Identifier: Apache-2.0
#include "search/network/asides.h"

#include <algorithm>
#include <set>

#include "base/divide.h"
#include "poly/group_buffers.h"

namespace tilefuse::search {
namespace {

using program::BufferId;

// Launches beside an aside, or it gains less than its join costs.
constexpr std::size_t kLeast = 4;
// Launches: as many asides as begin in one end before one launch.
constexpr std::size_t kStretch = 16;

struct Uses {
  std::set<BufferId> read, written;
};

Uses uses_of(const launch::Launch &launch) {
  Uses uses;
  for (const launch::Part &part : launch.parts) {
    uses.read.merge(poly::read_buffers(part.placed));
    for (const poly::SlotId slot : written_slots(part.placed.group))
      uses.written.insert(part.placed.buffers[slot]);
  }
  return uses;
}

bool meet(const std::set<BufferId> &some, const std::set<BufferId> &others) {
  return std::any_of(some.begin(), some.end(),
                     [&](BufferId buffer) { return others.count(buffer) > 0; });
}

bool must_wait(const Uses &later, const Uses &earlier) {
  return meet(later.read, earlier.written) || meet(later.written, earlier.written) ||
         meet(later.written, earlier.read);
}

} // namespace

// From the last on, as what an aside of a launch may be hangs on whether those behind it are some.
std::vector<std::optional<std::size_t>>
choose_asides(const std::vector<const launch::Launch *> &launches) {
  std::vector<Uses> uses;
  for (const launch::Launch *launch : launches)
    uses.push_back(uses_of(*launch));
  const std::size_t all = launches.size();
  std::vector<std::optional<std::size_t>> before(all);
  std::size_t next = all; // of the aside behind
  for (std::size_t k = all; k-- > 0;) {
    const std::size_t last = std::min({all, next, (ceil_div(k + 1, kStretch) + 1) * kStretch});
    std::size_t end = k + 1;
    std::size_t beside = 0;
    for (; end < last && (before[end] || !must_wait(uses[end], uses[k])); ++end)
      beside += before[end] ? 0 : 1;
    if (beside >= kLeast)
      next = *(before[k] = end);
  }
  return before;
}

} // namespace tilefuse::search
