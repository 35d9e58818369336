// SPDX-License-Identifier: Apache-2.0
// Schedules that kernels take to be one launch, where they would take others alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "launch/launch.h"
#include "search/pick.h"

namespace tilefuse::search {

// The best schedule of a group with so many work-items a block, if there is one.
using PickOfSize =
    std::function<std::optional<schedule::Schedule>(const poly::Group &, std::int64_t)>;
PickOfSize pick_of_size(const Target &target);

// Who chose a schedule that a kernel would not have alone.
constexpr std::string_view kForLaunch = "model, to share a launch";
// Gives the part this schedule, and says by what it was chosen where that is another.
void take(launch::Part &part, schedule::Schedule schedule);

// Chooses among the schedules of parts of a list; parts are named by their positions in it.
class LaunchSchedules {
public:
  LaunchSchedules(std::vector<launch::Part> &parts, const Target &target, const PickOfSize &pick)
      : parts_(parts), target_(target), pick_(pick) {}

  // Predicted seconds of a part alone; 0 for maps.
  double seconds(std::size_t k) const;
  // Replaces schedules that a launch of several parts cannot have: those with clusters of blocks,
  // and, where constants are stored between results, those that store results as boxes. A part
  // that has no other legal schedule keeps its own.
  void leave_alone(const std::vector<std::size_t> &all) const;
  // Gives all parts but maps schedules of one block size, where together they take no longer than
  // apart.
  void equalise(const std::vector<std::size_t> &all) const;
  // Gives the other parts schedules with the first one's core, so that they can run in step with
  // it, where that costs less than a launch of their own.
  void follow(std::size_t first, const std::vector<std::size_t> &all) const;

private:
  void leave_boxes(std::size_t k, const std::vector<std::size_t> &all) const;
  void leave_clusters(std::size_t k) const;
  std::vector<schedule::Schedule> of_size(const std::vector<std::size_t> &nests, std::int64_t size,
                                          double &best) const;

  std::vector<launch::Part> &parts_;
  const Target &target_;
  const PickOfSize &pick_;
};

} // namespace tilefuse::search
