// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

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

// What a kernel is launched with: the slots as they lie in host memory, those that are packed apart.
struct Arguments {
  std::vector<Bytes> packed;
  std::vector<std::span<const std::byte>> all;

  explicit Arguments(const Reference &reference) {
    const KernelCase &from = reference.kernel_case();
    const std::vector<schedule::KernelArg> list = kernel_args(from.group, from.schedule);
    packed.reserve(list.size()); // the spans stay
    for (const schedule::KernelArg &arg : list) {
      const Bytes &slot = reference.before()[at(slot_of(from.group, arg))];
      if (!arg.slot)
        packed.push_back(pack(from.group, from.schedule, arg, slot));
      all.emplace_back(arg.slot ? slot : packed.back());
    }
  }
};

// The arguments of one launch side by side in device memory, each between guards. They may be as
// large as a training step's activations: nothing is copied in host memory.
class GuardedArguments {
public:
  // Borrows the arguments.
  GuardedArguments(runtime::Device &device, const Arguments &args)
      : device_(device), args_(args.all), results_(args_.size()) {
    const std::int64_t unit = std::max(device.alignment(), kGuardBytes);
    end_ = unit;
    for (const std::span<const std::byte> arg : args_) {
      offsets_.push_back(end_);
      end_ += (static_cast<std::int64_t>(arg.size()) + kGuardBytes + unit - 1) / unit * unit;
    }
    memory_ = device.allocate(end_);
    for (std::size_t a = 0; a <= args_.size(); ++a) {
      const Binding guard = guard_before(a);
      device.write(guard, Bytes(static_cast<std::size_t>(guard.bytes), kGuard));
      if (a < args_.size() && !args_[a].empty())
        device.write(bindings()[a], args_[a]);
    }
  }

  std::vector<Binding> bindings() const {
    std::vector<Binding> all;
    for (std::size_t a = 0; a < args_.size(); ++a)
      all.push_back({memory_.get(), offsets_[a], static_cast<std::int64_t>(args_[a].size())});
    return all;
  }

  // Reads everything back. Gives the first byte outside the `written` arguments that changed.
  std::optional<std::string> read_back(const std::vector<std::size_t> &written) {
    for (std::size_t a = 0; a <= args_.size(); ++a) {
      const Binding guard = guard_before(a);
      const Bytes untouched(static_cast<std::size_t>(guard.bytes), kGuard);
      if (const auto changed = first_change(guard, read(guard), untouched))
        return changed;
      if (a == args_.size())
        break;
      results_[a] = read(bindings()[a]);
      if (std::count(written.begin(), written.end(), a) > 0)
        continue;
      if (const auto changed = first_change(bindings()[a], results_[a], args_[a]))
        return changed;
      results_[a] = {};
    }
    return {};
  }

  // A written argument, as it was read back.
  Bytes take(std::size_t a) { return std::move(results_[a]); }

private:
  // The guard in front of an argument, or behind the last.
  Binding guard_before(std::size_t a) const {
    const std::int64_t begin =
        a == 0 ? 0 : offsets_[a - 1] + static_cast<std::int64_t>(args_[a - 1].size());
    return {memory_.get(), begin, (a < args_.size() ? offsets_[a] : end_) - begin};
  }

  Bytes read(const Binding &from) const {
    Bytes bytes(static_cast<std::size_t>(from.bytes));
    if (!bytes.empty())
      device_.read(from, bytes);
    return bytes;
  }

  std::optional<std::string> first_change(const Binding &at, std::span<const std::byte> now,
                                          std::span<const std::byte> before) const {
    if (now.empty() || std::memcmp(now.data(), before.data(), now.size()) == 0)
      return {};
    const auto changed = std::mismatch(now.begin(), now.end(), before.begin()).first;
    return place_of(at.offset + (changed - now.begin()));
  }

  std::string place_of(std::int64_t byte) const {
    std::size_t a = 0;
    while (a + 1 < offsets_.size() && offsets_[a + 1] <= byte)
      ++a;
    return fmt::format("byte {} of argument {}, which has {}, was overwritten", byte - offsets_[a],
                       a, args_[a].size());
  }

  runtime::Device &device_;
  std::vector<std::span<const std::byte>> args_;
  std::vector<Bytes> results_;
  std::vector<std::int64_t> offsets_;
  std::int64_t end_ = 0;
  std::unique_ptr<runtime::Memory> memory_;
};

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
  const Arguments args(reference);
  GuardedArguments memory(device, args);
  const std::unique_ptr<runtime::Launchable> launch = device.load(built, memory.bindings());
  device.launch(*launch);
  if (std::optional<std::string> what = memory.read_back(written))
    return Divergence{stage, *what};
  Slots slots(reference.before().size());
  const std::vector<schedule::KernelArg> list = kernel_args(from.group, from.schedule);
  for (const std::size_t a : written)
    slots[at(list[a].slot.value())] = memory.take(a);
  std::optional<std::string> what = reference.compare(slots);
  if (after)
    *after = std::move(slots);
  if (what)
    return Divergence{stage, *what};
  return {};
}

double time_built(const Reference &reference, const Package &built, runtime::Device &device,
                  int runs) {
  const Arguments args(reference);
  GuardedArguments memory(device, args);
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
