// SPDX-License-Identifier: Apache-2.0
// Numbers 0 to n-1 in sets that can be joined. Each set has a root, one of its numbers.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace tilefuse {

class DisjointSets {
public:
  explicit DisjointSets(std::size_t n) : parent_(n) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  std::size_t root(std::size_t number) const {
    while (parent_[number] != number)
      number = parent_[number];
    return number;
  }

  // The root of b's set becomes that of both.
  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

private:
  std::vector<std::size_t> parent_;
};

} // namespace tilefuse
