// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"
#include "runtime/timeline.h"

namespace tilefuse::runtime {
namespace {

// A timeline of a device without queues: what runs beside is sent when it may begin.
class InOrder final : public Recorded {
public:
  InOrder(Device &device, Timeline timeline) : device_(device), timeline_(std::move(timeline)) {}

  void launch() override {
    waited_ = 0;
    const std::span<Launchable *const> kernels = timeline_.kernels;
    std::size_t begin = 0;
    for (const Beside &each : timeline_.beside) {
      launch(kernels.subspan(begin, each.after - begin));
      begin = each.after;
      device_.finish();
      const Stopwatch watch;
      each.send();
      waited_ += watch.seconds();
    }
    launch(kernels.subspan(begin));
  }
  double waited() override { return waited_; }

private:
  void launch(std::span<Launchable *const> kernels) {
    if (!kernels.empty())
      device_.launch_all(kernels);
  }

  Device &device_;
  Timeline timeline_;
  double waited_ = 0;
};

} // namespace

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

std::unique_ptr<Recorded> Device::record(Timeline timeline) {
  return std::make_unique<InOrder>(*this, std::move(timeline));
}

std::vector<double> Device::time_each(std::span<Launchable *const> kernels) {
  finish();
  std::vector<double> seconds;
  for (const LaunchTime &time : trace(kernels))
    seconds.push_back(time.seconds());
  return seconds;
}

} // namespace tilefuse::runtime
