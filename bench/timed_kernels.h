// SPDX-License-Identifier: Apache-2.0
// One group under several schedules on a device, to be timed side by side. All share the group's
// buffers of random values; each has its own packed constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "poly/group.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

namespace tilefuse::bench {

class TimedKernels {
public:
  // Lowers, emits and builds all. Error{Device} when one cannot be built. Requires legal schedules.
  TimedKernels(const poly::Group &group, const std::vector<schedule::Schedule> &schedules,
               runtime::Device &device);

  std::size_t size() const { return kernels_.size(); }
  const std::string &name(std::size_t kernel) const { return kernels_[kernel].name; }
  // Device seconds of one launch.
  double run(std::size_t kernel);

private:
  struct Kernel {
    std::string name;
    std::vector<std::unique_ptr<runtime::Memory>> packed;
    std::unique_ptr<runtime::Launchable> launch;
  };

  runtime::Device &device_;
  std::vector<std::unique_ptr<runtime::Memory>> slots_;
  std::vector<Kernel> kernels_;
};

// Measured seconds and their spread.
struct Samples {
  std::vector<double> seconds;
  // The value below which `share` (0..1) of the samples lie.
  double at(double share) const;
};

} // namespace tilefuse::bench
