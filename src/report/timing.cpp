// SPDX-License-Identifier: Apache-2.0
#include "report/timing.h"

#include <fmt/format.h>

namespace tilefuse::report {
namespace {

constexpr double kUnsteady = 1.5; // p90 over p10 that a quiet machine stays below

} // namespace

double Timing::quantile(double share) const {
  const auto last = static_cast<double>(seconds.size() - 1);
  return seconds[static_cast<std::size_t>(share * last + 0.5)];
}

void add_timing(Document &document, const Timing &timing,
                std::span<const model::KernelReport> kernels) {
  double flops = 0;
  double alone = 0;
  for (const model::KernelReport &kernel : kernels) {
    flops += kernel.flops;
    alone += kernel.seconds;
  }
  const double median = timing.quantile(0.5);
  const double per_second = median > 0 ? 1 / median : 0;
  const double p10 = timing.quantile(0.1), p90 = timing.quantile(0.9);
  const double p99 = timing.quantile(0.99);
  document.line(
      "time",
      fmt::format("median {:.3f} ms, p10 {:.3f}, p90 {:.3f}, p99 {:.3f}, {} runs; kernels "
                  "by themselves {:.3f} ms; {:.1f} GFLOP/s",
                  median * 1e3, p10 * 1e3, p90 * 1e3, p99 * 1e3, timing.seconds.size(), alone * 1e3,
                  flops * per_second * 1e-9),
      {{"median_seconds", median},
       {"p10_seconds", p10},
       {"p90_seconds", p90},
       {"p99_seconds", p99},
       {"runs", static_cast<std::int64_t>(timing.seconds.size())},
       {"kernel_seconds", alone},
       {"gflops_per_second", flops * per_second * 1e-9}});
  const double rate = static_cast<double>(timing.batch) * per_second;
  document.line("rate", fmt::format("{:.1f} a second, {} at a time", rate, timing.batch),
                {{"batch", timing.batch}, {"places_per_second", rate}});
  if (p90 > kUnsteady * p10)
    document.advise(fmt::format("the machine is busy: one run in ten takes {:.1f} times the "
                                "quickest tenth or longer, and so may any kernel's time below",
                                p90 / p10));
}

} // namespace tilefuse::report
