// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/time_bars.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kRow = 20;
constexpr double kTop = 24;
constexpr double kNames = 330; // where bars begin
constexpr double kBars = 480;  // their room
constexpr double kShare = kNames + kBars + 130;
constexpr double kSum = kShare + 70;

} // namespace

void time_bars(Markup &out, std::span<const model::KernelReport> kernels,
               std::span<const double> predicted) {
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return kernels[a].seconds > kernels[b].seconds;
  });
  double all = 0;
  for (const model::KernelReport &kernel : kernels)
    all += kernel.seconds;
  const double longest = kernels.empty() ? 0 : kernels[order[0]].seconds;
  const auto pixels = [&](double seconds) { return longest > 0 ? kBars * seconds / longest : 0; };
  open_picture(out, kTop + kRow * static_cast<double>(kernels.size()) + 6,
               "Kernels by their time, the longest first");
  label(out, {0, 12}, "kernel", "faint");
  label(out, {kNames, 12}, predicted.empty() ? "predicted time" : "time, and | as predicted",
        "faint");
  label(out, {kShare, 12}, "share", "faint end");
  label(out, {kSum, 12}, "all so far", "faint end");
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const model::KernelReport &kernel = kernels[order[i]];
    const double y = kTop + kRow * static_cast<double>(i);
    sum += kernel.seconds;
    out.open("a", {{"href", fmt::format("#k{}", kernel.number)}, {"data-k", kernel.number}});
    label(out, {0, y + 12},
          fitted(fmt::format("{}  {}", kernel.number, kernel.origin), kNames - 10));
    box(out, {{kNames, y + 1}, std::max(1.0, pixels(kernel.seconds)), kRow - 5},
        heat(kernel.roofline),
        fmt::format("{} of the roofline, which {} sets", percent_text(kernel.roofline),
                    kernel.limit));
    if (!predicted.empty()) {
      const double x = kNames + std::min(pixels(predicted[order[i]]), kBars);
      line(out, {x, y - 1}, {x, y + kRow - 2}, "mark");
    }
    label(out, {kNames + pixels(kernel.seconds) + 6, y + 12}, time_text(kernel.seconds));
    label(out, {kShare, y + 12}, fmt::format("{:.1f} %", all > 0 ? 100 * kernel.seconds / all : 0),
          "end");
    label(out, {kSum, y + 12}, percent_text(all > 0 ? sum / all : 0), "end");
    out.close();
  }
  out.close();
}

} // namespace tilefuse::report::html
