// SPDX-License-Identifier: Apache-2.0
// Random bits as a function of a key and a counter (Salmon, Moraes, Dror, Shaw 2011: Threefry-2x32
// of 20 rounds): no state to keep or to resume, and the same on every thread, device and machine.
#pragma once

#include <array>
#include <cstdint>

namespace tilefuse {

using ThreefryWords = std::array<std::uint32_t, 2>;

// The low word first.
constexpr ThreefryWords to_words(std::uint64_t bits) {
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}
constexpr std::uint64_t to_bits(ThreefryWords words) {
  return (std::uint64_t{words[1]} << 32) | words[0];
}

ThreefryWords threefry(ThreefryWords key, ThreefryWords counter);

// A number in [0, count) out of evenly spread 32 bits: their share of `count`, rounded down.
constexpr std::uint32_t number_below(std::uint32_t count, std::uint32_t bits) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * count) >> 32);
}

} // namespace tilefuse
