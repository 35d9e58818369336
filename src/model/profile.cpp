// SPDX-License-Identifier: Apache-2.0
#include "model/profile.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "cost/footprint.h"
#include "cost/group_model.h"
#include "cost/roofline.h"
#include "lower/launch/lower_launch.h"

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

// What a launch moves at least: each kernel by itself, but a part that follows finds in its
// work-items what they read and stored before.
double touched_bytes(const CompiledLaunch &launch) {
  std::map<program::BufferId, double> touched;
  for (const launch::Part &part : launch.launch.parts)
    for (const auto &[slot, bytes] : cost::touched_by_slot(part.placed.group)) {
      double &all = touched[part.placed.buffers[slot]];
      all = part.place == launch::Place::Following ? std::max(all, bytes) : all + bytes;
    }
  double sum = 0;
  for (const auto &[buffer, bytes] : touched)
    sum += bytes;
  return sum;
}

// The device's, and what these launches reached of it.
Ceilings ceilings(const Resident &resident, std::span<const runtime::LaunchTime> times) {
  Ceilings reached = resident.device().ceilings();
  for (std::size_t k = 0; k < times.size(); ++k) {
    const CompiledLaunch &launch = resident.compiled().launches[k];
    const Package &package = resident.compiled().package(launch);
    const bool is_scalar =
        first_part(launch).schedule.core.op == nullptr; // matrix units have another peak
    reached.raise_to(is_scalar ? package.flops : 0, touched_bytes(launch), times[k].seconds());
  }
  return reached;
}

// The launch's name and operations, as its code says or its kernel would.
struct Work {
  std::string name;
  double flops = 0;
};

// `number` is that of its first kernel.
KernelReport report_of(const CompiledLaunch &launch, const Work &work, int number,
                       const runtime::LaunchTime &time, const Target &target,
                       const Ceilings &ceilings) {
  const launch::Part &part = first_part(launch);
  const double bytes = touched_bytes(launch);
  const cost::Roofline least = cost::roofline(work.flops, bytes, part.schedule, target, ceilings);
  const double seconds = time.seconds();
  return {.number = number,
          .name = work.name,
          .origin = part.placed.origin,
          .schedule = part.schedule.name,
          .chosen_by = part.chosen_by,
          .flops = work.flops,
          .bytes = bytes,
          .begin = time.begin,
          .seconds = seconds,
          .roofline = seconds > 0 ? least.seconds() / seconds : 0,
          .limit = least.limit()};
}

} // namespace

Profile profile(const Resident &resident, Execution &execution, int passes) {
  const std::vector<runtime::LaunchTime> times = trace(resident, execution, passes);
  Profile result{.kernels = {}, .ceilings = ceilings(resident, times), .is_measured = true};
  int number = 0; // kernels in front
  for (std::size_t k = 0; k < times.size(); ++k) {
    const CompiledLaunch &launch = resident.compiled().launches[k];
    const Package &package = resident.compiled().package(launch);
    result.kernels.push_back(report_of(launch, {package.name, package.flops}, number, times[k],
                                       resident.device().target(), result.ceilings));
    number += static_cast<int>(launch.launch.parts.size());
  }
  return result;
}

Profile predicted_profile(const Compiled &compiled, const Target &target) {
  Profile result{.kernels = {}, .ceilings = stated_ceilings(target), .is_measured = false};
  int number = 0;
  double begin = 0;
  for (const CompiledLaunch &launch : compiled.launches) {
    const kernel::Kernel kernel = lower::lower_launch(launch.launch, target);
    double seconds = 0;
    for (const launch::Part &part : launch.launch.parts)
      seconds += cost::predict(part.placed.group, part.schedule, target).seconds;
    result.kernels.push_back(report_of(launch, {kernel.name, kernel.flops}, number,
                                       {begin, begin + seconds}, target, result.ceilings));
    number += static_cast<int>(launch.launch.parts.size());
    begin += seconds;
  }
  return result;
}

} // namespace tilefuse::model
