// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include "base/error.h"

namespace tilefuse::runtime {

void Device::rebind(Launchable &, std::size_t, const Binding &) {
  internal_error("a device that wraps no memory binds it", __FILE__, __LINE__);
}

void Device::use_queue(void *) {
  throw Error(ErrorCode::Unsupported, name() + " has no queues", {},
              {"a run that is started works on a thread of its own"});
}

std::unique_ptr<Mark> Device::mark() {
  internal_error("a device without queues marks one", __FILE__, __LINE__);
}

void Device::begin_behind(Mark &) {
  internal_error("a device without queues orders them", __FILE__, __LINE__);
}

void Device::copy(const Binding &, const Binding &) {
  internal_error("a device whose writes do not overlap copies", __FILE__, __LINE__);
}

std::vector<double> Device::time_each(std::span<Launchable *const> kernels) {
  finish();
  std::vector<double> seconds;
  for (const LaunchTime &time : trace(kernels))
    seconds.push_back(time.seconds());
  return seconds;
}

} // namespace tilefuse::runtime
