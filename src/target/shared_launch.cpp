// SPDX-License-Identifier: Apache-2.0
#include "target/shared_launch.h"

#include <algorithm>
#include <cmath>

namespace tilefuse {
namespace {

constexpr double kInlineSeconds = 4e-6; // less work than this stays on the calling thread
constexpr double kChunkSeconds = 1e-6;  // handed out at once, at least

} // namespace

double one_thread_seconds(double flops, double bytes, const Target &target) {
  return std::max(flops / (target.gflops_per_unit * 1e9), bytes / (target.gbytes_per_s * 1e9));
}

bool is_shared(double seconds) { return seconds >= kInlineSeconds; }

std::int64_t blocks_at_once(std::int64_t blocks, double seconds, int threads) {
  const auto all = static_cast<double>(blocks);
  const double by_time = std::ceil(all * kChunkSeconds / seconds);
  const double by_balance = std::ceil(all / (4.0 * threads));
  return static_cast<std::int64_t>(std::max(1.0, std::min(by_time, by_balance)));
}

} // namespace tilefuse
