// SPDX-License-Identifier: Apache-2.0
#include "model/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/index.h"

namespace tilefuse::model {
namespace {

constexpr std::size_t kSteps = 2048;
constexpr std::size_t kSignedLevels = 128;
constexpr std::size_t kUnsignedLevels = 256;

// Counts as `levels` integers keep them: those of a level spread over its steps that have any.
std::vector<double> kept(const std::vector<std::int64_t> &counts, std::size_t steps,
                         std::size_t levels) {
  std::vector<double> result(steps, 0);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t begin = level * steps / levels, end = (level + 1) * steps / levels;
    const auto from = counts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = counts.begin() + static_cast<std::ptrdiff_t>(end);
    const auto sum = static_cast<double>(std::accumulate(from, to, std::int64_t{0}));
    const auto empty = static_cast<double>(std::count(from, to, 0));
    const double each = sum / std::max(1.0, static_cast<double>(end - begin) - empty);
    for (std::size_t i = begin; i < end; ++i)
      result[i] = counts[i] != 0 ? each : 0;
  }
  return result;
}

// Of the first `steps`, into the last of which all that are beyond are clipped. Infinite where all
// are beyond.
double divergence(const std::vector<std::int64_t> &counts, std::size_t steps, std::size_t levels,
                  std::int64_t beyond) {
  const std::vector<double> q = kept(counts, steps, levels);
  const double kept_sum = std::accumulate(q.begin(), q.end(), 0.0);
  if (kept_sum == 0)
    return std::numeric_limits<double>::infinity();
  const double sum = kept_sum + static_cast<double>(beyond);
  double total = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const double p =
        (static_cast<double>(counts[i]) + (i + 1 == steps ? static_cast<double>(beyond) : 0)) / sum;
    if (p > 0)
      total += p * std::log(p / std::max(q[i] / kept_sum, 1e-12));
  }
  return total;
}

} // namespace

std::optional<Clipping> parse_clipping(std::string_view name) {
  if (name == "none")
    return Clipping::None;
  if (name == "percentile")
    return Clipping::Percentile;
  return name == "entropy" ? std::optional(Clipping::Entropy) : std::nullopt;
}

void Magnitudes::add(const program::HostTensor &tensor) {
  const std::int64_t size = program::elems(tensor.shape);
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = get(tensor, i);
    if (!std::isfinite(value))
      continue;
    seen_ = joined(seen_, {value, value});
    count(std::fabs(value));
  }
}

void Magnitudes::count(double magnitude) {
  if (magnitude == 0) {
    ++zeros_;
    return;
  }
  if (width_ == 0) {
    width_ = magnitude / (kSteps - 1);
    counts_.assign(kSteps, 0);
  }
  while (magnitude >= width_ * kSteps) {
    for (std::size_t i = 0; i < kSteps; ++i)
      counts_[i] = i < kSteps / 2 ? counts_[2 * i] + counts_[2 * i + 1] : 0;
    width_ *= 2;
  }
  ++counts_[std::min(kSteps - 1, static_cast<std::size_t>(magnitude / width_))];
}

double Magnitudes::at_percentile(double percentile) const {
  const std::int64_t all = std::accumulate(counts_.begin(), counts_.end(), zeros_);
  const double wanted = static_cast<double>(all) * percentile / 100;
  std::int64_t below = zeros_;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= wanted)
      return width_ * static_cast<double>(i + 1);
  }
  return width_ * static_cast<double>(counts_.size());
}

double Magnitudes::at_least_entropy(std::size_t levels) const {
  std::int64_t beyond = std::accumulate(counts_.begin() + static_cast<std::ptrdiff_t>(levels),
                                        counts_.end(), std::int64_t{0});
  double least = 0;
  std::size_t best = 0;
  for (std::size_t steps = levels; steps <= counts_.size(); ++steps) {
    const double lost = divergence(counts_, steps, levels, beyond);
    if (best == 0 || lost < least) {
      least = lost;
      best = steps;
    }
    beyond -= steps < counts_.size() ? counts_[steps] : 0;
  }
  return width_ * static_cast<double>(best);
}

program::Range Magnitudes::range(Clipping clipping, double percentile) const {
  if (clipping == Clipping::None || width_ == 0)
    return seen_;
  const double most = clipping == Clipping::Percentile
                          ? at_percentile(percentile)
                          : at_least_entropy(seen_.low < 0 ? kSignedLevels : kUnsignedLevels);
  return {std::max(seen_.low, -most), std::min(seen_.high, most)};
}

} // namespace tilefuse::model
