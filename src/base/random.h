// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine: the splitmix64 generator (Steele, Lea, Flood
// 2014), with draws of our own, because those of the standard library differ between libraries.
//
// A tape instead of a seed replays a list of numbers and then gives zeros. Every draw maps 0 to the
// simplest choice (the low end of a range, "no", the first option), so a property test that shrinks
// the tape shrinks whatever was drawn from it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/index.h"

namespace tilefuse {

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  explicit Random(std::vector<std::uint32_t> tape) : has_tape_(true), tape_(std::move(tape)) {}

  std::uint64_t next();
  // Both ends included; low when high is below it.
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(int percent) { return between(0, 99) >= 100 - percent; }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <typename T> T of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  template <typename T> const T &of(const std::vector<T> &values) {
    return values[at(between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  // A random order of [begin, end); that of a tape of zeros is the order it has.
  template <typename Iterator> void shuffle(Iterator begin, Iterator end) {
    for (auto left = end - begin; left > 1; --left, ++begin)
      std::swap(*begin, begin[between(0, left - 1)]);
  }

private:
  std::uint64_t state_ = 0;
  bool has_tape_ = false;
  std::vector<std::uint32_t> tape_;
  std::size_t read_ = 0;
};

} // namespace tilefuse
