// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/bars.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kBarWidth = 640; // of a picture of bars
constexpr double kNames = 230;    // where bars begin
constexpr double kRoom = 320;
constexpr double kRow = 20;
constexpr double kShown = 0.01; // of the longest
constexpr std::size_t kMostDemands = 8;

} // namespace

void bullet_bar(Markup &out, const Verdict &verdict) {
  constexpr double kHeight = 56;
  constexpr double kAll = 600;
  const double measured = verdict.measured ? verdict.measured->seconds : 0;
  const double most = std::max(measured, verdict.predicted) * 1.02;
  if (most <= 0)
    return;
  const auto x = [&](double seconds) { return kAll * seconds / most; };
  open_picture(out, kHeight, "Time against the prediction and what the device allows", kBarWidth);
  box(out, {{0, 14}, kAll, 20}, "back");
  if (verdict.measured) {
    const double least = measured * verdict.measured->roofline;
    box(out, {{0, 18}, x(measured), 12}, heat(verdict.measured->roofline),
        "measured " + time_text(measured));
    line(out, {x(least), 12}, {x(least), 36}, "roof");
    label(out, {std::min(x(least), kAll - 150), 48}, "roofline " + time_text(least), "small");
    label(out, {x(measured), 10}, "measured " + time_text(measured),
          x(measured) > kAll / 2 ? "end small" : "small");
  }
  line(out, {x(verdict.predicted), 12}, {x(verdict.predicted), 36}, "mark");
  const bool is_left = x(verdict.predicted) < kAll / 2;
  label(out, {x(verdict.predicted), verdict.measured && !is_left ? 48.0 : 10.0},
        "predicted " + time_text(verdict.predicted), is_left ? "small" : "end small");
  out.close();
}

void demand_bars(Markup &out, const cost::Demands &demands, double predicted) {
  std::vector<NamedTime> times;
  for (const cost::Demand &demand : demands)
    if (demand.seconds >= kShown * predicted && times.size() < kMostDemands)
      times.push_back({demand.what, demand.seconds, times.empty() ? "bound" : "part"});
  times.push_back({"the kernel, as predicted", predicted, "whole"});
  time_comparison(out, times, "What each resource demands");
}

void time_comparison(Markup &out, std::span<const NamedTime> times, std::string_view says) {
  double most = 0;
  for (const NamedTime &time : times)
    most = std::max(most, time.seconds);
  if (most <= 0)
    return;
  open_picture(out, kRow * static_cast<double>(times.size()) + 4, says, kBarWidth);
  for (std::size_t t = 0; t < times.size(); ++t) {
    const double y = kRow * static_cast<double>(t);
    const double width = std::max(1.0, kRoom * times[t].seconds / most);
    label(out, {kNames - 8, y + 14}, fitted(times[t].name, kNames - 8), "end");
    box(out, {{kNames, y + 3}, width, kRow - 6}, times[t].css);
    label(out, {kNames + width + 6, y + 14}, time_text(times[t].seconds));
  }
  out.close();
}

} // namespace tilefuse::report::html
