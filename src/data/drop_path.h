// SPDX-License-Identifier: Apache-2.0
// Which residual branches a training step leaves out of which pictures: stochastic depth (Huang,
// Sun, Liu, Sedra, Weinberger 2016). Of L branches the last is left out with probability `rate`,
// those before it with less, in equal steps: branch l of 1..L with l/L of it. One that stays counts
// so much more that its mean is what it is without.
//
//   rate 0.2, L = 2     branch 1: 0 or 1/0.9     branch 2: 0 or 1/0.8
//
// The draws are Threefry's, keyed by (seed, epoch) with the picture's number as the counter, so that
// they are the same on any number of threads and workers and after any restart.
#pragma once

#include <cstdint>
#include <span>

namespace tilefuse::data {

struct DropPath {
  double rate = 0;
  std::int64_t branches = 0;

  bool operator==(const DropPath &) const = default;
};

// What each branch of picture `sample` is multiplied by: `branches` factors.
void draw_paths(const DropPath &paths, std::uint64_t seed, std::int64_t epoch, std::int64_t sample,
                std::span<float> factors);

} // namespace tilefuse::data
