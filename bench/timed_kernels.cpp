// SPDX-License-Identifier: Apache-2.0
#include "timed_kernels.h"

#include <algorithm>

#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/compile.h"

namespace tilefuse::bench {

TimedKernels::TimedKernels(const poly::Group &group,
                           const std::vector<schedule::Schedule> &schedules,
                           runtime::Device &device)
    : timed_(group, device) {
  const std::unique_ptr<emit::Emitter> emitter = model::make_emitter(device.target());
  std::vector<Package> packages;
  for (const schedule::Schedule &schedule : schedules)
    packages.push_back(
        emitter->emit(lower::lower(group, schedule, device.target()), device.target()));
  packages = device.build(std::move(packages));
  for (std::size_t k = 0; k < schedules.size(); ++k) {
    timed_.add(schedules[k], packages[k]);
    names_.push_back(packages[k].name);
  }
}

double TimedKernels::run(std::size_t kernel) {
  const std::size_t only[] = {kernel};
  return timed_.run(only).front();
}

double Samples::at(double share) const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

} // namespace tilefuse::bench
