// SPDX-License-Identifier: Apache-2.0
// Schedules without tuning: every legal point of a small space around the known good forms, ranked
// by the cost model. No device is needed and the answer is the same every time.
#pragma once

#include <optional>
#include <vector>

#include "cost/gpu/lane_access.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "search/candidate.h"
#include "target/target.h"

namespace tilefuse::search {

// The best `count` candidates, best first; at least one, the scalar schedule when nothing else is
// legal.
std::vector<Candidate> candidates(const nest::Nest &nest, const Target &target, std::size_t count);

// The same for one who asks of several nests, or a nest for several candidates and then for its best:
// what was found last and the accesses that were counted are kept.
class Searches {
public:
  // Keeps a reference to the target.
  explicit Searches(const Target &target) : target_(target) {}
  const Target &target() const { return target_; }
  std::vector<Candidate> candidates(const nest::Nest &nest, std::size_t count);
  // The best candidate. With vector lanes only if it takes less than `seconds`: a search leaves out
  // what does not.
  std::optional<Candidate> best_below(const nest::Nest &nest, double seconds);

private:
  const Target &target_;
  nest::Nest nest_;
  std::vector<Candidate> found_; // of `nest_`
  cost::LaneCounts counts_;
};

schedule::Schedule pick(const nest::Nest &nest, const Target &target);

} // namespace tilefuse::search
