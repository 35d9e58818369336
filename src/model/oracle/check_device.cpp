// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "emit/emitter.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/oracle/check.h"
#include "model/plan/pack.h"
#include "schedule/staging.h"

namespace tilefuse::model {
namespace {

using program::Bytes;
using runtime::Binding;

constexpr std::int64_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

// The arguments of one launch side by side in device memory, each between guards.
class GuardedArguments {
public:
  GuardedArguments(runtime::Device &device, std::vector<Bytes> args)
      : device_(device), args_(std::move(args)) {
    const std::int64_t unit = std::max(device.alignment(), kGuardBytes);
    std::int64_t end = unit;
    for (const Bytes &arg : args_) {
      offsets_.push_back(end);
      end += (static_cast<std::int64_t>(arg.size()) + kGuardBytes + unit - 1) / unit * unit;
    }
    image_.assign(static_cast<std::size_t>(end), kGuard);
    for (std::size_t a = 0; a < args_.size(); ++a)
      std::copy(args_[a].begin(), args_[a].end(), image_.begin() + offsets_[a]);
    memory_ = device.allocate(end);
    device.write({memory_.get(), 0, end}, image_);
  }

  std::vector<Binding> bindings() const {
    std::vector<Binding> all;
    for (std::size_t a = 0; a < args_.size(); ++a)
      all.push_back({memory_.get(), offsets_[a], static_cast<std::int64_t>(args_[a].size())});
    return all;
  }

  // Reads everything back. Gives the first byte outside the `written` arguments that changed.
  std::optional<std::string> read_back(const std::vector<std::size_t> &written) {
    Bytes after(image_.size());
    device_.read({memory_.get(), 0, static_cast<std::int64_t>(after.size())}, after);
    for (const std::size_t a : written) {
      Bytes &out = args_[a];
      const auto begin = after.begin() + offsets_[a];
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(out.size()), out.begin());
      std::copy(out.begin(), out.end(), image_.begin() + offsets_[a]);
    }
    const auto changed = std::mismatch(image_.begin(), image_.end(), after.begin()).first;
    if (changed == image_.end())
      return {};
    return place_of(changed - image_.begin());
  }

  const Bytes &argument(std::size_t a) const { return args_[a]; }

private:
  std::string place_of(std::int64_t byte) const {
    std::size_t a = 0;
    while (a + 1 < offsets_.size() && offsets_[a + 1] <= byte)
      ++a;
    return fmt::format("byte {} of argument {}, which has {}, was overwritten", byte - offsets_[a],
                       a, args_[a].size());
  }

  runtime::Device &device_;
  std::vector<Bytes> args_;
  std::vector<std::int64_t> offsets_;
  Bytes image_;
  std::unique_ptr<runtime::Memory> memory_;
};

std::vector<Bytes> arguments(const Reference &reference) {
  const KernelCase &from = reference.kernel_case();
  std::vector<Bytes> args;
  for (const schedule::KernelArg &arg : kernel_args(from.group, from.schedule)) {
    const Bytes &slot = reference.before()[at(slot_of(from.group, arg))];
    args.push_back(arg.slot ? slot : pack(from.group, from.schedule, arg, slot));
  }
  return args;
}

// Positions of the slots that the kernel writes among the arguments.
std::vector<std::size_t> written_arguments(const KernelCase &from) {
  const std::vector<poly::SlotId> slots = written_slots(from.group);
  const std::vector<schedule::KernelArg> list = kernel_args(from.group, from.schedule);
  std::vector<std::size_t> written;
  for (std::size_t a = 0; a < list.size(); ++a)
    if (std::count(slots.begin(), slots.end(), list[a].slot) > 0)
      written.push_back(a);
  return written;
}

} // namespace

std::optional<Divergence> check_built(const Reference &reference, const Package &built,
                                      runtime::Device &device, Slots *after) {
  const KernelCase &from = reference.kernel_case();
  const std::string stage = "on " + device.name();
  const std::vector<std::size_t> written = written_arguments(from);
  GuardedArguments memory(device, arguments(reference));
  const std::unique_ptr<runtime::Launchable> launch = device.load(built, memory.bindings());
  device.launch(*launch);
  if (std::optional<std::string> what = memory.read_back(written))
    return Divergence{stage, *what};
  Slots slots = reference.before();
  const std::vector<schedule::KernelArg> list = kernel_args(from.group, from.schedule);
  for (const std::size_t a : written)
    slots[at(list[a].slot.value())] = memory.argument(a);
  std::optional<std::string> what = reference.compare(slots);
  if (after)
    *after = std::move(slots);
  if (what)
    return Divergence{stage, *what};
  return {};
}

double time_built(const Reference &reference, const Package &built, runtime::Device &device,
                  int runs) {
  GuardedArguments memory(device, arguments(reference));
  const std::unique_ptr<runtime::Launchable> launch = device.load(built, memory.bindings());
  runtime::Launchable *const kernels[] = {launch.get()};
  double best = device.time_each(kernels)[0];
  for (int i = 0; i < runs; ++i)
    best = std::min(best, device.time_each(kernels)[0]);
  return best;
}

std::optional<Divergence> check_on_device(const Reference &reference, runtime::Device &device) {
  const KernelCase &from = reference.kernel_case();
  const kernel::Kernel kernel = lower::lower(from.group, from.schedule, from.target);
  const std::vector<Package> built =
      device.build({make_emitter(device.target())->emit(kernel, device.target())});
  return check_built(reference, built[0], device);
}

} // namespace tilefuse::model
