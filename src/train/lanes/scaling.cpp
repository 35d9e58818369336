// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tilefuse::train {
namespace {

constexpr int kHost = 8;           // workers of a host
constexpr double kNetwork = 45e9;  // bytes per second and GPU
constexpr double kLatency = 10e-6; // seconds, of a message between hosts
constexpr double kBackward = 0.61; // of a step
constexpr double kHideable = 0.85; // of the backward pass
constexpr double kLastBytes = 1e6; // finished last, so never hidden
constexpr double kJitter = 0.01;   // of a step

// Efficiencies that were measured (docs/measurements/train_workers_h100.csv).
struct Measured {
  const char *what;
  int workers;
  ScalingStep step;
  double beside, behind;
};
constexpr auto kMeasured = std::to_array<Measured>({
    {"H100 of one host, ResNet-50 in f16", 2, {24.25e-3, 102'228'128, 128}, 0.977, 0.978},
});

double host_rate(int workers) { return workers <= 2 ? 329e9 : workers <= 4 ? 355e9 : 361e9; }

// Of so many bytes of parts, and as many of sums.
double exchange_seconds(double bytes, int workers) {
  const int inside = std::min(workers, kHost);
  const int hosts = workers / inside;
  const auto share = [](int n) { return 2.0 * (n - 1) / n; }; // sent and received
  return share(inside) * bytes / host_rate(inside) + share(hosts) * bytes / inside / kNetwork +
         2 * std::log2(hosts) * kLatency;
}

} // namespace

std::vector<ScalingRow> scaling(const ScalingStep &step, int most) {
  std::vector<ScalingRow> rows;
  for (int workers = 1; workers <= most; workers *= 2) {
    const double bytes = static_cast<double>(step.bytes) * (1 + step.parts) / 2;
    const double exchange = exchange_seconds(bytes, workers);
    const double slowest = step.seconds * (1 + kJitter * std::sqrt(2 * std::log(workers)));
    const double exposed = std::max(exchange - kHideable * kBackward * step.seconds,
                                    exchange_seconds(std::min(bytes, kLastBytes), workers));
    rows.push_back({workers, exchange * 1e3, step.seconds / (slowest + exposed),
                    step.seconds / (slowest + exchange)});
  }
  return rows;
}

std::string scaling_text(const ScalingStep &step, int most) {
  std::string text =
      fmt::format("scaling  on paper, of a step of {:.2f} ms and {:.1f} MB to exchange\n"
                  "         workers  pictures a step  exchange ms  beside the backward pass  "
                  "images/s  behind it\n",
                  step.seconds * 1e3, static_cast<double>(step.bytes) * 1e-6);
  if (step.parts < 1)
    text += fmt::format("         parts of them travel as {:.1f} MB\n",
                        static_cast<double>(step.bytes) * step.parts * 1e-6);
  for (const ScalingRow &row : scaling(step, most)) {
    const double pictures = static_cast<double>(step.pictures) * row.workers;
    text += fmt::format("         {:>7}  {:>15.0f}  {:>11.2f}  {:>24.3f}  {:>8.0f}  {:>9.3f}\n",
                        row.workers, pictures, row.exchange_ms, row.beside,
                        pictures * row.beside / step.seconds, row.behind);
  }
  text +=
      fmt::format("assumes  hosts of {} GPUs at 329 to 361 GB/s, {:.0f} GB/s per GPU and {:.0f} us "
                  "between them, a jitter of {:.0f} %,\n"
                  "         {:.0f} % of a backward pass that is {:.0f} % of a step to hide the "
                  "exchange, but its last {:.0f} MB\n",
                  kHost, kNetwork * 1e-9, kLatency * 1e6, kJitter * 100, kHideable * 100,
                  kBackward * 100, kLastBytes * 1e-6);
  for (const Measured &each : kMeasured) {
    const ScalingRow paper = scaling(each.step, each.workers).back();
    text +=
        fmt::format("measured {} {}, {} pictures each, {:.2f} ms alone: {:.3f} beside, on paper "
                    "{:.3f}; {:.3f} behind, on paper {:.3f}\n",
                    each.workers, each.what, each.step.pictures, each.step.seconds * 1e3,
                    each.beside, paper.beside, each.behind, paper.behind);
  }
  return text;
}

} // namespace tilefuse::train
