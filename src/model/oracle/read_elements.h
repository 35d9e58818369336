// SPDX-License-Identifier: Apache-2.0
// Which elements of its slots a nest reads at some points of its output indices. What is sampled of a
// large kernel needs few of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// Where a flat operand lies at a point of the first indices, the others being 0.
std::int64_t element_of(const Linear &flat, const std::vector<std::int64_t> &point);

// Of one slot: a bit for each element, or all of them.
class ReadElements {
public:
  explicit ReadElements(std::int64_t elems) : elems_(elems) {}

  // With what `input` reads of the slot at the points, also where a condition leaves it out.
  void add(const Nest &nest, const Operand &input,
           std::span<const std::vector<std::int64_t>> points);

  // Calls visit(element), in order.
  template <class Visit> void for_each(const Visit &visit) const {
    for (std::int64_t i = 0; all_ && i < elems_; ++i)
      visit(i);
    for (std::size_t w = 0; !all_ && w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        visit(static_cast<std::int64_t>(w) * kBits + std::countr_zero(rest));
  }

private:
  static constexpr std::int64_t kBits = 64;

  std::int64_t elems_;
  bool all_ = false;
  std::vector<std::uint64_t> words_; // empty: no element
};

// By slot, what the inputs read at the points.
std::vector<ReadElements> read_elements(const Nest &nest,
                                        std::span<const std::vector<std::int64_t>> points);

} // namespace tilefuse::nest
