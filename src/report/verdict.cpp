// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/roofline.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/oracle/check.h"

namespace tilefuse::report {
namespace {

constexpr int kRuns = 20;            // the fastest counts
constexpr double kNearlyAll = 0.7;   // of the roofline
constexpr double kBad = 0.1;         // of it
constexpr double kMuchLaunch = 0.25; // of the time
constexpr double kShown = 0.005;     // shares below are left out

using Share = std::pair<std::string_view, double>;

// Shares of the predicted time, the largest first.
std::vector<Share> shares(const cost::Estimate &estimate) {
  const double one = estimate.waves;
  std::vector<Share> parts = {
      {"compute", estimate.compute * one}, {"staging", estimate.staging * one},
      {"stores", estimate.stores * one},   {"refill", estimate.refill * one},
      {"memory", estimate.memory * one},   {"launch", estimate.launch}};
  double sum = 0;
  for (const Share &part : parts)
    sum += part.second;
  for (Share &part : parts)
    part.second = sum > 0 ? part.second / sum : 0;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Share &a, const Share &b) { return a.second > b.second; });
  return parts;
}

std::vector<std::string> ideas(const VerdictOn &kernel, const std::vector<Share> &parts) {
  std::vector<std::string> texts;
  const double reached = kernel.measured ? kernel.measured->roofline : 0;
  if (reached >= kNearlyAll)
    return {fmt::format("nothing: it reaches {:.0f} % of what the device allows", reached * 100)};
  const auto launch = std::find_if(parts.begin(), parts.end(),
                                   [](const Share &part) { return part.first == "launch"; });
  if (launch->second > kMuchLaunch)
    texts.push_back(
        fmt::format("--fuse all or a larger --batch: {:.0f} % of the time is the launch",
                    launch->second * 100));
  if (kernel.measured && reached < kBad)
    texts.push_back("--activations nchw or nhwc: another layout may suit it better");
  if (!kernel.is_tuned)
    texts.push_back(fmt::format("tune --kernel {}: schedules are not measured on this device yet",
                                kernel.number));
  else
    texts.push_back("a longer tune: the best schedule measured so far is taken");
  return texts;
}

} // namespace

std::optional<MeasuredKernel> measure(const poly::Group &group, const schedule::Schedule &schedule,
                                      runtime::Device &device) {
  std::string why;
  const auto emitter = emit::make_emitter(device.target(), &why);
  if (emitter == nullptr)
    return std::nullopt;
  const model::KernelCase kernel_case{.group = group,
                                      .schedule = schedule,
                                      .target = device.target(),
                                      .values = model::Values::Reals};
  const model::Reference reference(kernel_case, 1);
  const std::vector<Package> built = device.build(
      {emitter->emit(lower::lower(group, schedule, device.target()), device.target())});
  MeasuredKernel measured{.seconds = model::time_built(reference, built[0], device, kRuns)};
  const cost::Roofline least =
      cost::roofline(built[0].flops, built[0].bytes, schedule, device.target(), device.ceilings());
  measured.roofline = measured.seconds > 0 ? std::min(1.0, least.seconds() / measured.seconds) : 0;
  measured.limit = least.limit();
  return measured;
}

std::string verdict(const VerdictOn &kernel) {
  std::string text;
  if (kernel.measured)
    text += fmt::format(
        "measured  {:.1f} us on this device, {:.0f} % of its roofline, which {} sets\n",
        kernel.measured->seconds * 1e6, kernel.measured->roofline * 100, kernel.measured->limit);
  const std::vector<Share> parts = shares(kernel.predicted);
  std::vector<std::string> shown;
  for (const auto &[what, share] : parts)
    if (share >= kShown)
      shown.push_back(fmt::format("{} {:.0f} %", what, share * 100));
  text += fmt::format("predicted {:.1f} us: {}\n", kernel.predicted.seconds * 1e6,
                      fmt::join(shown, ", "));
  for (const std::string &idea : ideas(kernel, parts))
    text += "try       " + idea + "\n";
  return text;
}

} // namespace tilefuse::report
