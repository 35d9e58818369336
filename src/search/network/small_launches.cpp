// SPDX-License-Identifier: Apache-2.0
#include "search/network/small_launches.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cost/group_model.h"
#include "launch/legal.h"
#include "poly/group_buffers.h"

namespace tilefuse::search {
namespace {

using launch::Launch;
using launch::Part;
using schedule::group_size;

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

// The part with as many work-items in a block as the others of a launch have; nothing where that
// takes longer than a launch of its own.
std::optional<Part> of_size(const Part &part, std::int64_t size, const Target &target,
                            const PickOfSize &pick) {
  if (group_size(part.schedule) == size)
    return part;
  std::optional<schedule::Schedule> other = pick(part.placed.group, size);
  const auto seconds = [&](const schedule::Schedule &as) {
    return cost::predict(part.placed.group, as, target).seconds;
  };
  if (!other || seconds(*other) > seconds(part.schedule) + target.launch_us * 1e-6)
    return std::nullopt;
  Part made = part;
  take(made, std::move(*other));
  return made;
}

} // namespace

std::vector<std::size_t> beside_small(std::vector<Part> &kernels, std::size_t begin,
                                      const Target &target, const PickOfSize &pick) {
  std::vector<std::size_t> found;
  if (!is_small(kernels[begin], target))
    return found;
  Launch launch{{kernels[begin]}};
  const std::int64_t size = group_size(kernels[begin].schedule);
  const std::size_t end = std::min(kernels.size(), begin + 1 + kLookedAt);
  for (std::size_t k = begin + 1; k < end && launch.parts.size() < kParts; ++k) {
    const auto passes = [&](const Part &other) { return are_independent(kernels[k], other); };
    if (!is_small(kernels[k], target) ||
        !std::all_of(kernels.begin() + static_cast<std::ptrdiff_t>(begin),
                     kernels.begin() + static_cast<std::ptrdiff_t>(k), passes))
      continue;
    std::optional<Part> part = of_size(kernels[k], size, target, pick);
    if (part && !launch::wrong_beside(launch, *part, target)) {
      launch.parts.push_back(*part);
      kernels[k] = std::move(*part);
      found.push_back(k);
    }
  }
  return found;
}

} // namespace tilefuse::search
