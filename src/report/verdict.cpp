// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/footprint.h"
#include "cost/roofline.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/oracle/check.h"
#include "model/tune/records.h"

namespace tilefuse::report {
namespace {

constexpr int kRuns = 20;            // the fastest counts
constexpr double kNearlyAll = 0.7;   // of the roofline
constexpr double kBad = 0.1;         // of it
constexpr double kMuchLaunch = 0.25; // of the time
constexpr double kFarOff = 1.5;      // measured over predicted
constexpr double kWorthTrying = 0.01;
constexpr std::size_t kShown = 3; // demands
constexpr double kShownShare = 0.05;

double launch_seconds(const cost::Demands &demands) {
  const auto found = std::find_if(demands.begin(), demands.end(), [](const cost::Demand &demand) {
    return demand.what == std::string_view("launch");
  });
  return found == demands.end() ? 0 : found->seconds;
}

// Schedules that the model takes for faster and the search does not reach.
void add_faster(std::vector<Idea> &ideas, std::span<const Weighed> weighed) {
  const double chosen = weighed.front().seconds.value_or(0);
  for (const Weighed &row : weighed)
    if (row.kind == Weighed::Kind::Neighbour && row.seconds &&
        *row.seconds < (1 - kWorthTrying) * chosen) {
      ideas.push_back({"--schedule FILE with " + row.differs, chosen - *row.seconds});
      return;
    }
}

std::vector<Idea> ideas_of(const Verdict &verdict, int number, bool is_tuned,
                           std::span<const Weighed> weighed) {
  const std::optional<MeasuredKernel> &measured = verdict.measured;
  if (measured && measured->roofline >= kNearlyAll)
    return {{fmt::format("nothing: it reaches {:.0f} % of what the device allows",
                         measured->roofline * 100)}};
  std::vector<Idea> ideas;
  const double launch = launch_seconds(verdict.demands);
  if (launch > kMuchLaunch * verdict.predicted)
    ideas.push_back(
        {"--fuse all or a larger --batch: the launch takes much of the time", launch, true});
  add_faster(ideas, weighed);
  if (measured && measured->roofline < kBad)
    ideas.push_back({"--activations nchw or nhwc: another layout may suit it better"});
  const double left = measured ? measured->seconds * (1 - measured->roofline) : 0;
  if (!is_tuned)
    ideas.push_back(
        {fmt::format("tune --kernel {}: schedules are not measured on this device yet", number),
         left, true});
  else
    ideas.push_back({"a longer tune: the best schedule measured so far is taken", left, true});
  if (measured && measured->seconds > kFarOff * verdict.predicted)
    ideas.push_back({"doctor: it takes far longer than predicted, so the machine may be busy"});
  return ideas;
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
  const cost::Roofline least = cost::roofline(built[0].flops, cost::touched_bytes(group), schedule,
                                              device.target(), device.ceilings());
  measured.roofline = measured.seconds > 0 ? std::min(1.0, least.seconds() / measured.seconds) : 0;
  measured.limit = least.limit();
  return measured;
}

std::optional<TunedTimes> tuned_times(const poly::Group &group, runtime::RecordStore *records,
                                      const runtime::Device *device) {
  if (records == nullptr || device == nullptr)
    return std::nullopt;
  const std::optional<runtime::TuningRecord> own =
      model::find_recorded(*records, group, *device).own;
  if (!own)
    return std::nullopt;
  return TunedTimes{own->seconds, own->model_seconds, own->date.substr(0, own->date.find('T'))};
}

Verdict verdict(int number, bool is_tuned, std::optional<MeasuredKernel> measured,
                std::span<const Weighed> weighed) {
  Verdict result{.measured = std::move(measured),
                 .predicted = weighed.front().seconds.value_or(0),
                 .demands = weighed.front().demands,
                 .ideas = {}};
  result.ideas = ideas_of(result, number, is_tuned, weighed);
  return result;
}

std::string bound_text(const Verdict &verdict) {
  std::vector<std::string> others;
  for (std::size_t d = 0; d < std::min(kShown, verdict.demands.size()); ++d) {
    const cost::Demand &demand = verdict.demands[d];
    if (d == 0 || demand.seconds >= kShownShare * verdict.predicted)
      others.push_back(
          d == 0 ? fmt::format("bound by {}: {:.1f} us", demand.what, demand.seconds * 1e6)
                 : fmt::format("{} {:.1f}", demand.what, demand.seconds * 1e6));
  }
  return fmt::format("{}", fmt::join(others, ", then "));
}

std::string to_text(const Idea &idea) {
  if (idea.gain_seconds <= 0)
    return idea.text;
  return fmt::format("{} ({}{:.1f} us)", idea.text, idea.is_most ? "at most " : "predicted gain ",
                     idea.gain_seconds * 1e6);
}

std::string to_text(const TunedTimes &tuned) {
  return fmt::format("{:.1f} us, beside {:.1f} us of the model's choice, on {}",
                     tuned.seconds * 1e6, tuned.model_seconds * 1e6, tuned.date);
}

std::string to_text(const Verdict &verdict, const Style &style) {
  std::string text;
  const auto line = [&](const char *label, const std::string &says) {
    text += wrap(fmt::format("{:<10}{}", label, says), style.is_wide ? 0 : style.width, 10) + "\n";
  };
  if (verdict.measured)
    line("measured",
         fmt::format("{:.1f} us on this device, {:.0f} % of its roofline, which {} sets",
                     verdict.measured->seconds * 1e6, verdict.measured->roofline * 100,
                     verdict.measured->limit));
  if (verdict.tuned)
    line("tuned", to_text(*verdict.tuned));
  line("predicted", fmt::format("{:.1f} us, {}", verdict.predicted * 1e6, bound_text(verdict)));
  for (const Idea &idea : verdict.ideas)
    line("try", to_text(idea));
  return text;
}

} // namespace tilefuse::report
