// SPDX-License-Identifier: Apache-2.0
#include "search/pick.h"

#include <algorithm>
#include <cmath>

#include "search/space.h"

namespace tilefuse::search {

using nest::Nest;
using schedule::Schedule;

std::vector<Candidate> candidates(const Nest &nest, const Target &target, std::size_t count) {
  return Searches(target).candidates(nest, count);
}

std::vector<Candidate> Searches::candidates(const Nest &nest, std::size_t count) {
  if (found_.size() < count || nest_ != nest) {
    nest_ = nest;
    Space space(nest, target_, counts_);
    found_ = space.best(count);
  }
  return {found_.begin(),
          found_.begin() + static_cast<std::ptrdiff_t>(std::min(count, found_.size()))};
}

std::optional<Candidate> Searches::best_below(const Nest &nest, double seconds) {
  if (std::isinf(seconds) || target_.lanes == LaneKind::WorkItem)
    return candidates(nest, 1).front();
  return Space(nest, target_, counts_).best_below(seconds);
}

Schedule pick(const Nest &nest, const Target &target) {
  return candidates(nest, target, 1).front().schedule;
}

} // namespace tilefuse::search
