// SPDX-License-Identifier: Apache-2.0
// One group under several schedules on a device, to be timed side by side on random data: all share
// the group's buffers, each has its own packed constants.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/oracle/kernel_case.h"
#include "poly/group.h"
#include "runtime/device.h"

namespace tilefuse::model {

class TimedGroup {
public:
  // `group` and `device` must outlive it.
  TimedGroup(const poly::Group &group, runtime::Device &device);

  // Loads a built kernel of the group; gives its number.
  std::size_t add(const schedule::Schedule &schedule, const Package &built);
  void drop(std::size_t kernel);
  // Device seconds of one launch of each, in the order given.
  std::vector<double> run(std::span<const std::size_t> kernels);
  // Medians of `passes` such runs: drift meets all alike. Each is launched twice, and the second is
  // counted: the cores that write its results now are those that wrote them last.
  std::vector<double> medians(std::span<const std::size_t> kernels, int passes);

private:
  struct Kernel {
    std::vector<std::unique_ptr<runtime::Memory>> packed;
    std::unique_ptr<runtime::Launchable> launch;
  };

  runtime::Memory *upload(const program::Bytes &bytes,
                          std::vector<std::unique_ptr<runtime::Memory>> &into);

  const poly::Group &group_;
  runtime::Device &device_;
  std::vector<program::Bytes> data_; // by slot
  std::vector<std::unique_ptr<runtime::Memory>> slots_;
  std::vector<Kernel> kernels_;
};

double median(std::vector<double> values);

} // namespace tilefuse::model
