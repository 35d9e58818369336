// SPDX-License-Identifier: Apache-2.0
#include "model/profile.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cost/roofline.h"

namespace tilefuse::model {
namespace {

constexpr int kRunsInFront = 3;

// Runs in front keep the device busy while the timed launches are sent.
std::vector<runtime::LaunchTime> trace(const Resident &resident, Execution &execution, int passes) {
  std::vector<std::vector<runtime::LaunchTime>> runs;
  for (int pass = 0; pass < passes; ++pass) {
    for (int i = 0; i < kRunsInFront; ++i)
      execution.launch();
    runs.push_back(resident.device().trace(execution.kernels()));
  }
  const auto seconds = [](const std::vector<runtime::LaunchTime> &run) {
    return run.empty() ? 0 : run.back().end - run.front().begin;
  };
  const auto middle = runs.begin() + passes / 2;
  std::nth_element(runs.begin(), middle, runs.end(),
                   [&](const auto &a, const auto &b) { return seconds(a) < seconds(b); });
  return std::move(*middle);
}

const launch::Part &first_part(const CompiledLaunch &launch) { return launch.launch.parts[0]; }

// The device's, and what these launches reached of it.
Ceilings ceilings(const Resident &resident, std::span<const runtime::LaunchTime> times) {
  Ceilings reached = resident.device().ceilings();
  for (std::size_t k = 0; k < times.size(); ++k) {
    const CompiledLaunch &launch = resident.compiled().launches[k];
    const Package &package = resident.compiled().package(launch);
    const bool is_scalar =
        first_part(launch).schedule.core.op == nullptr; // matrix units have another peak
    reached.raise_to(is_scalar ? package.flops : 0, package.bytes, times[k].seconds());
  }
  return reached;
}

} // namespace

std::vector<KernelReport> profile(const Resident &resident, Execution &execution, int passes) {
  const std::vector<runtime::LaunchTime> times = trace(resident, execution, passes);
  const Ceilings most = ceilings(resident, times);
  std::vector<KernelReport> reports;
  int number = 0; // kernels in front
  for (std::size_t k = 0; k < times.size(); ++k) {
    const CompiledLaunch &launch = resident.compiled().launches[k];
    const launch::Part &part = first_part(launch);
    const Package &package = resident.compiled().package(launch);
    const cost::Roofline least = cost::roofline(package.flops, package.bytes, part.schedule,
                                                resident.device().target(), most);
    const double seconds = times[k].seconds();
    reports.push_back({.number = number,
                       .name = package.name,
                       .origin = part.placed.origin,
                       .schedule = part.schedule.name,
                       .chosen_by = part.chosen_by,
                       .flops = package.flops,
                       .bytes = package.bytes,
                       .begin = times[k].begin,
                       .seconds = seconds,
                       .roofline = seconds > 0 ? least.seconds() / seconds : 0,
                       .limit = least.limit()});
    number += static_cast<int>(launch.launch.parts.size());
  }
  return reports;
}

} // namespace tilefuse::model
