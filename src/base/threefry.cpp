// SPDX-License-Identifier: Apache-2.0
#include "base/threefry.h"

#include <bit>

namespace tilefuse {

ThreefryWords threefry(ThreefryWords key, ThreefryWords counter) {
  constexpr std::uint32_t kParity = 0x1bd11bda;
  constexpr std::array<int, 8> kRotations = {13, 15, 26, 6, 17, 29, 16, 24};
  constexpr unsigned kRounds = 20;
  const std::array<std::uint32_t, 3> keys = {key[0], key[1], kParity ^ key[0] ^ key[1]};
  auto [a, b] = ThreefryWords{counter[0] + keys[0], counter[1] + keys[1]};
  for (unsigned round = 0; round < kRounds; ++round) {
    a += b;
    b = std::rotl(b, kRotations[round % 8]) ^ a;
    if (round % 4 == 3) { // a key word is added after every fourth round
      const unsigned added = round / 4 + 1;
      a += keys[added % 3];
      b += keys[(added + 1) % 3] + added;
    }
  }
  return {a, b};
}

} // namespace tilefuse
