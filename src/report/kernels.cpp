// SPDX-License-Identifier: Apache-2.0
#include "report/kernels.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilefuse::report {
namespace {

using model::KernelReport;
using Fit = Column::Fit;

constexpr double kGood = 0.5;     // share of the roofline
constexpr double kBad = 0.1;      // below it something is wrong
constexpr double kNotable = 0.05; // share of the time
constexpr double kMost = 0.5;     // of the time, in the kernels to look at first
constexpr std::size_t kNamed = 3; // kernels of an advice

struct Sum {
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

Sum sum_of(std::span<const KernelReport> kernels, std::span<const std::size_t> order) {
  Sum sum;
  for (const std::size_t k : order) {
    sum.seconds += kernels[k].seconds;
    sum.flops += kernels[k].flops;
    sum.bytes += kernels[k].bytes;
  }
  return sum;
}

std::vector<std::size_t> ordered(std::span<const KernelReport> kernels, KernelOrder by) {
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (by == KernelOrder::Time)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return kernels[a].seconds > kernels[b].seconds;
    });
  return order;
}

Tone tone_of(double roofline) {
  return roofline >= kGood ? Tone::Good : roofline >= kBad ? Tone::Fair : Tone::Bad;
}

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds * 1e-9 : 0;
}

Cell scaled(double value, double scale, int decimals) {
  return {fmt::format("{:.{}f}", value * scale, decimals), value};
}

std::vector<Cell> row(const KernelReport &kernel, double all) {
  return {cell(std::int64_t{kernel.number}),
          scaled(kernel.seconds, 1e6, 1),
          share_cell(all > 0 ? kernel.seconds / all : 0, 1),
          cell(per_second(kernel.flops, kernel.seconds), 1),
          cell(per_second(kernel.bytes, kernel.seconds), 1),
          share_cell(kernel.roofline, 0, tone_of(kernel.roofline)),
          cell(kernel.schedule),
          cell(kernel.chosen_by),
          cell(kernel.name, Tone::Faint),
          cell(kernel.origin),
          cell(kernel.limit),
          cell(kernel.flops, 0),
          cell(kernel.bytes, 0),
          cell(kernel.begin, 6)};
}

std::vector<Cell> sum_row(const Sum &sum, double all, const std::string &what) {
  std::vector<Cell> cells = {{},
                             scaled(sum.seconds, 1e6, 1),
                             share_cell(all > 0 ? sum.seconds / all : 0, 1),
                             cell(per_second(sum.flops, sum.seconds), 1),
                             cell(per_second(sum.bytes, sum.seconds), 1),
                             {},
                             {},
                             {},
                             {},
                             cell(what, Tone::Faint)};
  cells.resize(14);
  return cells;
}

double total(std::span<const KernelReport> kernels) {
  double seconds = 0;
  for (const KernelReport &kernel : kernels)
    seconds += kernel.seconds;
  return seconds;
}

} // namespace

Table kernel_table(std::span<const KernelReport> kernels, KernelOrder by, std::size_t most) {
  Table table{.columns = {{"#", "number", true},
                          {"us", "seconds", true},
                          {"share", "share", true},
                          {"GFLOP/s", "gflops_per_second", true},
                          {"GB/s", "gbytes_per_second", true},
                          {"roofline", "roofline", true},
                          {"schedule", "schedule", false, Fit::Wide},
                          {"chosen by", "chosen_by", false, Fit::Wide},
                          {"kernel", "name", false, Fit::Wide},
                          {"nodes", "origin", false, Fit::Cut},
                          {"limit", "limit", false, Fit::Data},
                          {"flops", "flops", true, Fit::Data},
                          {"bytes", "bytes", true, Fit::Data},
                          {"begin", "begin", true, Fit::Data}},
              .rows = {},
              .sums = {}};
  const std::vector<std::size_t> order = ordered(kernels, by);
  const double all = total(kernels);
  const std::size_t shown = most == 0 ? order.size() : std::min(most, order.size());
  for (std::size_t i = 0; i < shown; ++i)
    table.rows.push_back(row(kernels[order[i]], all));
  const std::span<const std::size_t> every(order);
  if (shown < order.size())
    table.sums.push_back(sum_row(sum_of(kernels, every.subspan(shown)), all,
                                 fmt::format("{} more", order.size() - shown)));
  table.sums.push_back(
      sum_row(sum_of(kernels, every), all, fmt::format("all {} kernels", order.size())));
  return table;
}

std::vector<std::string> advice(std::span<const KernelReport> kernels) {
  const double all = total(kernels);
  if (kernels.empty() || all <= 0)
    return {};
  std::vector<std::string> texts;
  const std::vector<std::size_t> order = ordered(kernels, KernelOrder::Time);
  std::vector<int> first;
  double sum = 0;
  for (const std::size_t k : order) {
    if (sum >= kMost * all || first.size() == kNamed)
      break;
    first.push_back(kernels[k].number);
    sum += kernels[k].seconds;
  }
  if (kernels.size() > 2 * first.size())
    texts.push_back(fmt::format(
        "{:.0f} % of the time is in kernel{} {}; explain --kernel {} says why", 100 * sum / all,
        first.size() > 1 ? "s" : "", fmt::join(first, ", "), first.front()));
  std::vector<int> slow;
  double lost = 0;
  for (const std::size_t k : order)
    if (kernels[k].seconds >= kNotable * all && kernels[k].roofline < kBad) {
      slow.push_back(kernels[k].number);
      lost += kernels[k].seconds;
    }
  if (!slow.empty())
    texts.push_back(
        fmt::format("kernel{} {} take{} {:.0f} % of the time below {:.0f} % of the roofline: try "
                    "--activations nchw or nhwc, and tune --kernel {}",
                    slow.size() > 1 ? "s" : "", fmt::join(slow, ", "), slow.size() > 1 ? "" : "s",
                    100 * lost / all, 100 * kBad, fmt::join(slow, " ")));
  return texts;
}

} // namespace tilefuse::report
