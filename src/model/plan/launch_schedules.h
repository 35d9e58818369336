// SPDX-License-Identifier: Apache-2.0
// Schedules that kernels take to be one launch, where they would take others alone.
#pragma once

#include <string_view>
#include <vector>

#include "model/plan/launch.h"
#include "search/pick.h"

namespace tilefuse::model {

// The best that search knows of, best first, to choose one of a form from.
std::vector<search::Candidate> candidates_of(const poly::Group &group, const Target &target);

// It reads no inputs: zeros between pixels, say.
bool is_map(const LaunchPart &part);

// What a kernel's schedule is chosen by that it would not have alone.
constexpr std::string_view kForLaunch = "model, to share a launch";
// Gives the part this schedule, and says by what it was chosen where that is another.
void take(const LaunchPart &part, schedule::Schedule schedule);

// Of kernels of a list, by position.
class LaunchSchedules {
public:
  LaunchSchedules(const std::vector<LaunchPart> &parts, const Target &target,
                  const PickOfSize &pick)
      : parts_(parts), target_(target), pick_(pick) {}

  // Of one alone by the cost model; 0 for maps.
  double seconds(std::size_t k) const;
  // Legal schedules without what no kernel that others stand beside has: clusters of blocks; and
  // results that leave in boxes, where constants lie between them. Those that have none stay.
  void leave_alone(const std::vector<std::size_t> &all) const;
  // Schedules of one block size for all that are no maps, where together they take no longer than
  // apart.
  void equalise(const std::vector<std::size_t> &all) const;
  // Schedules with the first one's core for others, where that costs less than their own launch:
  // they can be in step with it.
  void follow(std::size_t first, const std::vector<std::size_t> &all) const;

private:
  void leave_boxes(std::size_t k, const std::vector<std::size_t> &all) const;
  void leave_clusters(std::size_t k) const;
  std::vector<schedule::Schedule> of_size(const std::vector<std::size_t> &nests, std::int64_t size,
                                          double &best) const;

  const std::vector<LaunchPart> &parts_;
  const Target &target_;
  const PickOfSize &pick_;
};

} // namespace tilefuse::model
