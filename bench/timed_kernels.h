// SPDX-License-Identifier: Apache-2.0
// One group under several schedules on a device, to be timed side by side. All share the group's
// buffers of random values; each has its own packed constants.
#pragma once

#include <string>
#include <vector>

#include "model/tune/timed_group.h"

namespace tilefuse::bench {

class TimedKernels {
public:
  // Lowers, emits and builds all. Error{Device} when one cannot be built. Requires legal schedules.
  TimedKernels(const poly::Group &group, const std::vector<schedule::Schedule> &schedules,
               runtime::Device &device);

  std::size_t size() const { return names_.size(); }
  const std::string &name(std::size_t kernel) const { return names_[kernel]; }
  // Device seconds of one launch.
  double run(std::size_t kernel);

private:
  model::TimedGroup timed_;
  std::vector<std::string> names_;
};

// Measured seconds and their spread.
struct Samples {
  std::vector<double> seconds;
  // The value below which `share` (0..1) of the samples lie.
  double at(double share) const;
};

} // namespace tilefuse::bench
