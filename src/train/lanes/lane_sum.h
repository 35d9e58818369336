// SPDX-License-Identifier: Apache-2.0
// What a worker's lanes learned, added up. A lane is one batch through the gradients program; a step
// sums them by a complete binary tree over their numbers. A worker keeps, as a binary counter does,
// one partial sum per level:
//
//   lane 0   partial 0 = learned
//   lane 1   partial 1 = partial 0 + learned
//   lane 2   partial 0 = learned
//   lane 3   learned = partial 1 + (partial 0 + learned)
//
// So the sum of all lies in "learned", where that of a step of one lane does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "train/phase.h"

namespace tilefuse::train {

class LaneSum {
public:
  // Of `learned`, rows of kRow floats, over `lanes`, a power of two; the sum is multiplied by `factor`.
  // Device, cache and `learned` outlive the result.
  LaneSum(const Compilation &compilation, const runtime::Binding &learned, int lanes,
          double factor);

  // What is launched behind the gradients of a lane, from 0 on.
  const std::vector<runtime::Launchable *> &kernels(int lane) const {
    return kernels_.at(static_cast<std::size_t>(lane));
  }
  std::int64_t bytes() const; // of the partial sums

private:
  using Sum = std::tuple<int, int, int>; // left, right, result: levels of partial sums, or kLearned

  runtime::Binding place(int level) const;
  Phase &phase(const Sum &sum, double factor);

  Compilation compilation_;
  runtime::Binding learned_;
  std::vector<std::unique_ptr<runtime::Memory>> partial_; // by level
  std::map<Sum, Phase> phases_;
  std::vector<std::vector<runtime::Launchable *>> kernels_; // by lane
};

} // namespace tilefuse::train
