// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

namespace tilefuse {

std::uint64_t Random::next() {
  if (has_tape_)
    return read_ < tape_.size() ? tape_[read_++] : 0;
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  if (high <= low)
    return low;
  const std::uint64_t count =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t drawn = count == 0 ? next() : next() % count;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn);
}

} // namespace tilefuse
