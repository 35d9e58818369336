// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/lane_sum.h"

#include <array>
#include <bit>

#include "base/index.h"
#include "train/lanes/sum_program.h"
#include "train/parameters.h"

namespace tilefuse::train {
namespace {

constexpr int kLearned = -1;
constexpr int kNothing = -2;

} // namespace

LaneSum::LaneSum(const Compilation &compilation, const runtime::Binding &learned, int lanes,
                 double factor)
    : compilation_(compilation), learned_(learned), kernels_(at(lanes)) {
  compilation_.precision = "f32";
  for (int level = 0; (1 << level) < lanes; ++level)
    partial_.push_back(compilation.device.allocate(learned.bytes));
  for (int lane = 0; lane < lanes && lanes > 1; ++lane) {
    const auto add = [&](const Sum &sum, double times) {
      const auto kernels = phase(sum, times).kernels();
      kernels_[at(lane)].insert(kernels_[at(lane)].end(), kernels.begin(), kernels.end());
    };
    const int carries = std::countr_one(static_cast<unsigned>(lane));
    const bool is_last = lane + 1 == lanes;
    if (carries == 0)
      add({kLearned, kNothing, 0}, 1);
    for (int level = 0; level < carries; ++level) {
      const bool ends = level + 1 == carries;
      add({level, level == 0 ? kLearned : level - 1,
           !ends     ? level
           : is_last ? kLearned
                     : carries},
          ends && is_last ? factor : 1);
    }
  }
}

std::int64_t LaneSum::bytes() const {
  return static_cast<std::int64_t>(partial_.size()) * learned_.bytes;
}

runtime::Binding LaneSum::place(int level) const {
  return level == kLearned ? learned_
                           : runtime::Binding{partial_[at(level)].get(), 0, learned_.bytes};
}

Phase &LaneSum::phase(const Sum &sum, double factor) {
  const auto found = phases_.find(sum);
  if (found != phases_.end())
    return found->second;
  const auto [left, right, result] = sum;
  const bool is_copy = right == kNothing;
  std::vector<model::PlacedPort> placed{{{false, 0}, place(left)}, {{true, 0}, place(result)}};
  if (!is_copy)
    placed.push_back({{false, 1}, place(right)});
  const program::Program program =
      sum_program(learned_.bytes / (4 * kRow), is_copy ? 1 : 2, factor);
  Phase &made = phases_.try_emplace(sum, program, compilation_, placed).first->second;
  if (result == left || result == right)
    check_in_place(made.resident(), result == left ? 0 : 1, 0);
  return made;
}

} // namespace tilefuse::train
