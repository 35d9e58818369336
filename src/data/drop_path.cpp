// SPDX-License-Identifier: Apache-2.0
#include "data/drop_path.h"

#include "base/index.h"
#include "data/order.h"

namespace tilefuse::data {
namespace {

constexpr std::uint64_t kStream = std::uint64_t{1} << 40; // apart from other draws of a picture

} // namespace

void draw_paths(const DropPath &paths, std::uint64_t seed, std::int64_t epoch, std::int64_t sample,
                std::span<float> factors) {
  const ThreefryWords key = epoch_key(seed, epoch);
  for (std::int64_t l = 1; l <= paths.branches; ++l) {
    const std::uint64_t counter =
        static_cast<std::uint64_t>(sample) + kStream * static_cast<std::uint64_t>(l);
    const double drawn = 0x1p-32 * threefry(key, to_words(counter))[0];
    const double chance = paths.rate * static_cast<double>(l) / static_cast<double>(paths.branches);
    factors[at(l - 1)] = drawn < chance ? 0.0F : static_cast<float>(1 / (1 - chance));
  }
}

} // namespace tilefuse::data
