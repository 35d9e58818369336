// SPDX-License-Identifier: Apache-2.0
#include "timed_kernels.h"

#include <algorithm>
#include <random>
#include <span>

#include "base/error.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "schedule/staging.h"

namespace tilefuse::bench {
namespace {

// `elems` random values of a type; whole numbers for the types that are not float.
std::unique_ptr<runtime::Memory> random_memory(DType type, std::int64_t elems,
                                               runtime::Device &device) {
  const std::int64_t bytes = std::max<std::int64_t>(elems * size_bytes(type), 1);
  std::unique_ptr<runtime::Memory> memory = device.allocate(bytes);
  if (type != DType::F32) {
    device.fill_zero({memory.get(), 0, bytes});
    return memory;
  }
  std::mt19937 engine(3);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(elems));
  std::generate(values.begin(), values.end(), [&] { return value(engine); });
  device.write({memory.get(), 0, bytes}, std::as_bytes(std::span(values)));
  return memory;
}

std::unique_ptr<emit::Emitter> make_emitter(const Target &target) {
  std::string why;
  std::unique_ptr<emit::Emitter> emitter = emit::make_emitter(target, &why);
  if (!emitter)
    throw Error(ErrorCode::Device, "no code generation for the cpu: " + why);
  return emitter;
}

} // namespace

TimedKernels::TimedKernels(const poly::Group &group,
                           const std::vector<schedule::Schedule> &schedules,
                           runtime::Device &device)
    : device_(device) {
  const nest::Nest &nest = group.anchor;
  for (const nest::Slot &slot : nest.slots)
    slots_.push_back(random_memory(slot.type, slot.elems, device));
  const std::unique_ptr<emit::Emitter> emitter = make_emitter(device.target());
  std::vector<Package> packages;
  for (const schedule::Schedule &schedule : schedules)
    packages.push_back(
        emitter->emit(lower::lower(group, schedule, device.target()), device.target()));
  packages = device.build(std::move(packages));
  for (std::size_t k = 0; k < schedules.size(); ++k) {
    Kernel kernel{.name = packages[k].name, .packed = {}, .launch = nullptr};
    std::vector<runtime::Binding> bindings;
    for (const schedule::KernelArg &arg : kernel_args(nest, schedules[k])) {
      runtime::Memory *memory = nullptr;
      if (arg.slot >= 0) {
        memory = slots_[static_cast<std::size_t>(arg.slot)].get();
      } else {
        const std::int64_t elems = pack_layout(nest, schedules[k], arg.packed_input).elems;
        kernel.packed.push_back(random_memory(schedule::held_type(nest), elems, device));
        memory = kernel.packed.back().get();
      }
      bindings.push_back({memory, 0, memory->bytes()});
    }
    kernel.launch = device.load(packages[k], bindings);
    kernels_.push_back(std::move(kernel));
  }
}

double TimedKernels::run(std::size_t kernel) {
  runtime::Launchable *const launches[] = {kernels_[kernel].launch.get()};
  return device_.time_each(launches).front();
}

double Samples::at(double share) const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

} // namespace tilefuse::bench
