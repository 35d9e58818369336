// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/roofline_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kHeight = 420;
constexpr double kLeft = 80;
constexpr double kRight = kWidth - 150;
constexpr double kTop = 16;
constexpr double kBottom = kHeight - 44;
constexpr double kLargest = 16; // radius of a dot
constexpr double kSmallest = 3;

// A logarithmic axis over whole powers of ten.
struct Axis {
  double from = 0; // powers
  double to = 1;
  double begin = 0; // pixels
  double end = 0;
  double at(double value) const {
    const double power = std::clamp(std::log10(value), from, to);
    return begin + (power - from) / (to - from) * (end - begin);
  }
};

bool is_shown(const model::KernelReport &kernel) {
  return kernel.flops > 0 && kernel.bytes > 0 && kernel.seconds > 0;
}

Axis axis(std::span<const double> values, double begin, double end) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double from = std::floor(std::log10(*least));
  return {from, std::max(from + 1, std::ceil(std::log10(*most))), begin, end};
}

std::string rate_text(double flops) {
  return flops >= 1e12 ? fmt::format("{:.4g} TFLOP/s", flops * 1e-12)
                       : fmt::format("{:.3g} GFLOP/s", flops * 1e-9);
}

void grid(Markup &out, const Axis &x, const Axis &y) {
  for (double power = x.from; power <= x.to; ++power) {
    const double value = std::pow(10, power);
    line(out, {x.at(value), kTop}, {x.at(value), kBottom}, "grid");
    label(out, {x.at(value), kBottom + 16}, fmt::format("{:g}", value), "mid");
  }
  for (double power = y.from; power <= y.to; ++power) {
    const double value = std::pow(10, power);
    line(out, {kLeft, y.at(value)}, {kRight, y.at(value)}, "grid");
    label(out, {kLeft - 6, y.at(value) + 4}, rate_text(value), "end small");
  }
  label(out, {kLeft, kHeight - 8}, "operations per byte that must move", "faint");
}

// Names at the right end of lines, moved down where they would meet.
class EndLabels {
public:
  explicit EndLabels(Markup &out) : out_(out) {}
  void add(double y, const std::string &text) { labels_.emplace_back(y, text); }
  void write() {
    std::sort(labels_.begin(), labels_.end());
    double lowest = 0;
    for (const auto &[y, text] : labels_) {
      lowest = std::max(lowest + 14, y + 4);
      label(out_, {kRight + 6, lowest}, text, "small");
    }
  }

private:
  Markup &out_;
  std::vector<std::pair<double, std::string>> labels_;
};

std::string level_name(std::size_t level, const Ceilings &ceilings) {
  return level + 1 == ceilings.levels.size() ? "memory" : fmt::format("L{}", level + 1);
}

// Under the axis, what the slopes are.
void level_rates(Markup &out, const Ceilings &ceilings) {
  std::vector<std::string> texts;
  for (std::size_t level = 0; level < ceilings.levels.size(); ++level)
    texts.push_back(fmt::format("{} {:.0f} GB/s", level_name(level, ceilings),
                                ceilings.levels[level].bytes_per_s * 1e-9));
  label(out, {kRight, kHeight - 8}, fmt::format("slopes: {}", fmt::join(texts, ", ")), "end small");
}

// Each level up to the highest peak, where it can be reached within the axis.
void ceilings(Markup &out, const model::Profile &profile, std::span<const UnitPeak> peaks,
              const Axis &x, const Axis &y) {
  const double right = std::pow(10, x.to);
  EndLabels names(out);
  double top = 0;
  for (const UnitPeak &peak : peaks) {
    top = std::max(top, peak.flops_per_s);
    line(out, {kLeft, y.at(peak.flops_per_s)}, {kRight, y.at(peak.flops_per_s)}, "roof");
    names.add(y.at(peak.flops_per_s), peak.name + " " + rate_text(peak.flops_per_s));
  }
  for (std::size_t level = 0; level < profile.ceilings.levels.size(); ++level) {
    const double rate = profile.ceilings.levels[level].bytes_per_s;
    const double from = std::max(std::pow(10, x.from), std::pow(10, y.from) / rate);
    const double to = std::min(right, std::min(top, std::pow(10, y.to)) / rate);
    if (to <= from)
      continue;
    line(out, {x.at(from), y.at(from * rate)}, {x.at(to), y.at(to * rate)}, "roof");
    label(out, {x.at(to), y.at(to * rate) - (level % 2 == 0 ? 5.0 : 17.0)},
          level_name(level, profile.ceilings), "mid small");
  }
  names.write();
}

} // namespace

void roofline_plot(Markup &out, const model::Profile &profile, std::span<const UnitPeak> peaks) {
  std::vector<double> intensity;
  std::vector<double> rates;
  double longest = 0;
  for (const model::KernelReport &kernel : profile.kernels)
    if (is_shown(kernel)) {
      intensity.push_back(kernel.flops / kernel.bytes);
      rates.push_back(kernel.flops / kernel.seconds);
      longest = std::max(longest, kernel.seconds);
    }
  if (intensity.empty()) {
    out.element("p", {}, "No kernel computes anything.");
    return;
  }
  for (const UnitPeak &peak : peaks)
    rates.push_back(peak.flops_per_s);
  const Axis x = axis(intensity, kLeft, kRight);
  const Axis y = axis(rates, kBottom, kTop);
  open_picture(out, kHeight, "Kernels and what the device allows at most");
  grid(out, x, y);
  level_rates(out, profile.ceilings);
  ceilings(out, profile, peaks, x, y);
  for (const model::KernelReport &kernel : profile.kernels) {
    if (!is_shown(kernel))
      continue;
    out.open("a", {{"href", fmt::format("#k{}", kernel.number)}, {"data-k", kernel.number}});
    out.open("circle", {{"cx", x.at(kernel.flops / kernel.bytes)},
                        {"cy", y.at(kernel.flops / kernel.seconds)},
                        {"r", std::max(kSmallest, kLargest * std::sqrt(kernel.seconds / longest))},
                        {"class", "dot " + heat(kernel.roofline)}});
    out.element("title", {},
                fmt::format("kernel {}: {}\n{}, {} GFLOP/s, {:.2f} operations per byte",
                            kernel.number, kernel.origin, time_text(kernel.seconds),
                            number(kernel.flops / kernel.seconds * 1e-9),
                            kernel.flops / kernel.bytes));
    out.close().close();
  }
  out.close();
}

} // namespace tilefuse::report::html
