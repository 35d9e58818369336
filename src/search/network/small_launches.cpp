// SPDX-License-Identifier: Apache-2.0
#include "search/network/small_launches.h"

#include <algorithm>
#include <set>

#include "cost/group_model.h"
#include "launch/legal.h"
#include "poly/group_buffers.h"

namespace tilefuse::search {
namespace {

using launch::Launch;
using launch::Part;

constexpr double kSmall = 2;          // launches' time
constexpr std::size_t kParts = 8;     // of a launch
constexpr std::size_t kLookedAt = 12; // kernels behind the first

// Maps and reductions, without products, which may want a multiprocessor for themselves.
bool is_small(const Part &part, const Target &target) {
  return is_alone(part.placed.group) && !part.placed.joins_tiles &&
         part.placed.group.anchor.comb != program::Comb::Mul && !has_core(part.schedule) &&
         cost::predict(part.placed.group, part.schedule, target).seconds <=
             kSmall * target.launch_us * 1e-6;
}

bool touches(const poly::PlacedGroup &writer, const poly::PlacedGroup &other) {
  const std::set<program::BufferId> read = poly::read_buffers(other);
  return poly::writes(other, poly::written_buffer(writer)) ||
         std::any_of(read.begin(), read.end(),
                     [&](program::BufferId buffer) { return poly::writes(writer, buffer); });
}

bool are_independent(const Part &a, const Part &b) {
  return !touches(a.placed, b.placed) && !touches(b.placed, a.placed);
}

} // namespace

std::vector<std::size_t> beside_small(const std::vector<Part> &kernels, std::size_t begin,
                                      const Target &target) {
  std::vector<std::size_t> found;
  if (!is_small(kernels[begin], target))
    return found;
  Launch launch{{kernels[begin]}};
  const std::size_t end = std::min(kernels.size(), begin + 1 + kLookedAt);
  for (std::size_t k = begin + 1; k < end && launch.parts.size() < kParts; ++k) {
    const auto passes = [&](const Part &other) { return are_independent(kernels[k], other); };
    if (is_small(kernels[k], target) &&
        std::all_of(kernels.begin() + static_cast<std::ptrdiff_t>(begin),
                    kernels.begin() + static_cast<std::ptrdiff_t>(k), passes) &&
        !launch::wrong_beside(launch, kernels[k], target)) {
      launch.parts.push_back(kernels[k]);
      found.push_back(k);
    }
  }
  return found;
}

} // namespace tilefuse::search
