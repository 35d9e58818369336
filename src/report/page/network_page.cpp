// SPDX-License-Identifier: Apache-2.0
#include "report/page/network_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "cost/roofline.h"
#include "report/kernels.h"
#include "schedule/members.h"

namespace tilefuse::report {
namespace {

// One operation of the schedule's units, in the time that the roofline gives it.
UnitPeak peak_of(const schedule::Schedule &schedule, const Target &target,
                 const Ceilings &ceilings) {
  const bool is_matrix = schedule.core.op != nullptr;
  return {is_matrix ? "matrix units" : "multiply-adds",
          1 / cost::roofline(1, 0, schedule, target, ceilings).arithmetic};
}

void add_peak(std::vector<UnitPeak> &peaks, UnitPeak peak) {
  if (std::find(peaks.begin(), peaks.end(), peak) == peaks.end())
    peaks.push_back(std::move(peak));
}

// The launch's time is the kernel's where it is alone in it.
std::optional<MeasuredKernel> measured(const launch::Launch &launch,
                                       const model::KernelReport &report, bool is_measured) {
  if (!is_measured || launch.parts.size() > 1)
    return std::nullopt;
  return MeasuredKernel{report.seconds, report.roofline, report.limit};
}

} // namespace

NetworkPage network_page(const model::Compiled &compiled, const model::Plan &plan,
                         model::Profile profile, const ScheduleOptions &how) {
  NetworkPage page;
  page.advice = advice(profile.kernels);
  page.flows = dataflow(compiled, plan);
  page.plan = plan;
  for (std::size_t l = 0; l < compiled.launches.size(); ++l) {
    const launch::Launch &launch = compiled.launches[l].launch;
    const model::KernelReport &report = profile.kernels[l];
    page.predicted.push_back(0);
    for (std::size_t p = 0; p < launch.parts.size(); ++p) {
      const launch::Part &part = launch.parts[p];
      KernelPage kernel{.number = report.number + static_cast<int>(p),
                        .launch = l,
                        .name = report.name,
                        .origin = part.placed.origin,
                        .notes = part.placed.notes};
      kernel.explained =
          explain_choice(part.placed.group, {part.schedule, part.chosen_by},
                         measured(launch, report, profile.is_measured), how, kernel.number);
      kernel.schedule_text = schedule::to_text(part.placed.group, part.schedule);
      kernel.tiling = tiling(part.placed.group.anchor, part.schedule);
      page.predicted.back() += kernel.explained.verdict.predicted;
      add_peak(page.peaks, peak_of(part.schedule, how.target, profile.ceilings));
      page.kernels.push_back(std::move(kernel));
    }
  }
  page.profile = std::move(profile);
  return page;
}

} // namespace tilefuse::report
