// SPDX-License-Identifier: Apache-2.0
#include "model/tune/timed_group.h"

#include <algorithm>

#include "model/plan/pack.h"
#include "schedule/staging.h"

namespace tilefuse::model {

TimedGroup::TimedGroup(const poly::Group &group, runtime::Device &device)
    : group_(group), device_(device) {
  KernelCase data;
  data.group = group;
  data.values = Values::Reals;
  data_ = make_slots(data);
  for (const program::Bytes &bytes : data_)
    upload(bytes, slots_);
}

runtime::Memory *TimedGroup::upload(const program::Bytes &bytes,
                                    std::vector<std::unique_ptr<runtime::Memory>> &into) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  into.push_back(device_.allocate(std::max<std::int64_t>(size, 1)));
  device_.write({into.back().get(), 0, size}, bytes);
  return into.back().get();
}

std::size_t TimedGroup::add(const schedule::Schedule &schedule, const Package &built) {
  Kernel kernel;
  std::vector<runtime::Binding> bindings;
  for (const schedule::KernelArg &arg : kernel_args(group_, schedule)) {
    const auto slot = static_cast<std::size_t>(slot_of(group_, arg));
    runtime::Memory *memory = arg.slot
                                  ? slots_[slot].get()
                                  : upload(pack(group_, schedule, arg, data_[slot]), kernel.packed);
    bindings.push_back({memory, 0, memory->bytes()});
  }
  kernel.launch = device_.load(built, bindings);
  kernels_.push_back(std::move(kernel));
  return kernels_.size() - 1;
}

void TimedGroup::drop(std::size_t kernel) { kernels_[kernel] = {}; }

std::vector<double> TimedGroup::run(std::span<const std::size_t> kernels) {
  std::vector<runtime::Launchable *> launches;
  for (const std::size_t kernel : kernels)
    launches.push_back(kernels_[kernel].launch.get());
  return device_.time_each(launches);
}

std::vector<double> TimedGroup::medians(std::span<const std::size_t> kernels, int passes) {
  std::vector<std::vector<double>> seconds(kernels.size());
  std::vector<std::size_t> order;
  for (const std::size_t kernel : kernels)
    order.insert(order.end(), {kernel, kernel});
  for (int pass = 0; pass < passes; ++pass) {
    const std::vector<double> once = run(order);
    for (std::size_t k = 0; k < kernels.size(); ++k)
      seconds[k].push_back(once[2 * k + 1]);
  }
  std::vector<double> middle;
  for (std::vector<double> &of_kernel : seconds)
    middle.push_back(median(std::move(of_kernel)));
  return middle;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.empty() ? 0 : *middle;
}

} // namespace tilefuse::model
