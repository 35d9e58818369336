// SPDX-License-Identifier: Apache-2.0
#include "data/order.h"

#include <numeric>

#include "base/index.h"
#include "base/random.h"

namespace tilefuse::data {

ThreefryWords epoch_key(std::uint64_t seed, std::int64_t epoch) {
  return threefry(to_words(seed), to_words(static_cast<std::uint64_t>(epoch)));
}

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(at(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random random(to_bits(epoch_key(seed, epoch)));
  random.shuffle(order.begin(), order.end());
  return order;
}

} // namespace tilefuse::data
