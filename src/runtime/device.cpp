// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include "base/error.h"

namespace tilefuse::runtime {

void Device::rebind(Launchable &, std::size_t, const Binding &) {
  internal_error("a device that wraps no memory binds it", __FILE__, __LINE__);
}

std::vector<double> Device::time_each(std::span<Launchable *const> kernels) {
  finish();
  std::vector<double> seconds;
  for (const LaunchTime &time : trace(kernels))
    seconds.push_back(time.seconds());
  return seconds;
}

} // namespace tilefuse::runtime
