// SPDX-License-Identifier: Apache-2.0
// Counts through a box of indices while keeping linear forms of them up to date by one addition
// each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// The loop indices, slowest first, over a set of forms. Forms start at their constants: the point
// where all are 0.
class Odometer {
public:
  Odometer(std::span<const Index> indices, std::vector<std::size_t> loops,
           const std::vector<Linear> &forms)
      : loops_(std::move(loops)), count_(loops_.size(), 0) {
    for (const Linear &form : forms)
      values_.push_back(form.constant);
    for (std::size_t i : loops_) {
      extents_.push_back(indices[i].extent);
      for (const Linear &form : forms)
        steps_.push_back(form.coeff[i]);
    }
  }

  // Current values of the forms.
  const std::vector<std::int64_t> &values() const { return values_; }

  // Moves to the next point; false after the last one.
  bool next() {
    const std::size_t forms = values_.size();
    for (std::size_t level = loops_.size(); level-- > 0;) {
      const std::int64_t *step = steps_.data() + level * forms;
      const bool wraps = ++count_[level] == extents_[level];
      const std::int64_t by = wraps ? 1 - extents_[level] : 1;
      for (std::size_t f = 0; f < forms; ++f)
        values_[f] += step[f] * by;
      if (!wraps)
        return true;
      count_[level] = 0;
    }
    return false;
  }

private:
  std::vector<std::size_t> loops_;
  std::vector<std::int64_t> count_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> steps_; // (level, form)
  std::vector<std::int64_t> values_;
};

} // namespace tilefuse::nest
