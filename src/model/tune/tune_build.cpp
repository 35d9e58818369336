// SPDX-License-Identifier: Apache-2.0
#include "model/tune/tune_build.h"

#include "base/error.h"
#include "lower/pipeline.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

// One after the other where all at once fail: one that cannot be built does not keep the rest.
std::vector<std::optional<Package>> build_packages(std::vector<std::optional<Package>> emitted,
                                                   runtime::Device &device) {
  std::vector<Package> sources;
  for (const std::optional<Package> &package : emitted)
    if (package)
      sources.push_back(*package);
  try {
    std::vector<Package> built = device.build(std::move(sources));
    auto next = built.begin();
    for (std::optional<Package> &package : emitted)
      if (package)
        package = std::move(*next++);
    return emitted;
  } catch (const Error &) {
    if (emitted.size() == 1)
      return {std::nullopt};
  }
  for (std::optional<Package> &package : emitted)
    package = build_packages({std::move(package)}, device).front();
  return emitted;
}

} // namespace

std::vector<std::optional<Package>> build_schedules(const poly::Group &group,
                                                    const std::vector<Schedule> &schedules,
                                                    const Workshop &shop) {
  const Target &target = shop.device.target();
  std::vector<std::optional<Package>> emitted(schedules.size());
  shop.pool.parallel_for(static_cast<std::int64_t>(schedules.size()), [&](int, std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    try {
      emitted[k] = shop.emitter.emit(lower::lower(group, schedules[k], target), target);
    } catch (const Error &) { // too large for the code generator
    }
  });
  return build_packages(std::move(emitted), shop.device);
}

} // namespace tilefuse::model
