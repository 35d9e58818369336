// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

namespace tilefuse::runtime {

std::vector<double> Device::time_each(std::span<Launchable *const> kernels) {
  finish();
  std::vector<double> seconds;
  for (const LaunchTime &time : trace(kernels))
    seconds.push_back(time.seconds());
  return seconds;
}

} // namespace tilefuse::runtime
