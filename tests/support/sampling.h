// SPDX-License-Identifier: Apache-2.0
// How many cases of a long list a test takes. By day it takes some of every kind, the same ones
// each time; by night, which `ctest -L nightly` says by TILEFUSE_NIGHTLY, all that the test asks
// for.
//
//   for (const std::size_t i : testing::sampled(testing::steps(all.size(), 3)))
//
// takes every third by night and every eighth of these by day.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace tilefuse::testing {

constexpr std::size_t kSparser = 8; // cases by night for one by day

inline bool is_nightly() { return std::getenv("TILEFUSE_NIGHTLY") != nullptr; }

// `night` of something by night, `day` by day.
template <typename T> T by_night(T night, T day) { return is_nightly() ? night : day; }

// Numbers below `count` in steps of `step`, from one on that `from` chooses among the first. At
// least one where there is any.
inline std::vector<std::size_t> steps(std::size_t count, std::size_t step, std::size_t from = 0) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = from % std::clamp<std::size_t>(count, 1, step); i < count; i += step)
    numbers.push_back(i);
  return numbers;
}

// All cases by night; by day every kSparser-th, from one on that `from` chooses among the first. At
// least one where there is any.
template <typename Case>
std::vector<Case> sampled(const std::vector<Case> &cases, std::size_t from = 0) {
  if (is_nightly())
    return cases;
  std::vector<Case> some;
  for (const std::size_t i : steps(cases.size(), kSparser, from))
    some.push_back(cases[i]);
  return some;
}

} // namespace tilefuse::testing
