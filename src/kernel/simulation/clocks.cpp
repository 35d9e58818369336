// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/clocks.h"

#include <algorithm>

namespace tilefuse::kernel::simulation {

std::uint32_t Clocks::start_cluster() {
  const std::uint32_t last = *std::max_element(now_.begin(), now_.end());
  std::fill(now_.begin(), now_.end(), last + 1);
  std::fill(known_.begin(), known_.end(), last);
  return last + 1;
}

void Clocks::meet(std::span<const std::size_t> warps) {
  const std::size_t all = now_.size();
  std::vector<std::uint32_t> joined(all, 0);
  for (const std::size_t warp : warps) {
    for (std::size_t other = 0; other < all; ++other)
      joined[other] = std::max(joined[other], known_[warp * all + other]);
  }
  for (const std::size_t warp : warps)
    joined[warp] = now_[warp]++;
  for (const std::size_t warp : warps)
    std::copy(joined.begin(), joined.end(),
              known_.begin() + static_cast<std::ptrdiff_t>(warp * all));
}

std::vector<std::uint32_t> Clocks::tell(std::size_t warp) {
  const auto first = known_.begin() + static_cast<std::ptrdiff_t>(warp * now_.size());
  std::vector<std::uint32_t> told(first, first + static_cast<std::ptrdiff_t>(now_.size()));
  told[warp] = now_[warp]++;
  return told;
}

void Clocks::learn(std::size_t warp, std::span<const std::uint32_t> told) {
  for (std::size_t other = 0; other < now_.size(); ++other) {
    std::uint32_t &known = known_[warp * now_.size() + other];
    known = std::max(known, told[other]);
  }
}

void Clocks::join(std::vector<std::uint32_t> &all, std::span<const std::uint32_t> told) {
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = std::max(all[i], told[i]);
}

} // namespace tilefuse::kernel::simulation
