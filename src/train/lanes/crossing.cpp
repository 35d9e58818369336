// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/crossing.h"

#include <algorithm>
#include <map>

namespace tilefuse::train {
namespace {

using program::Program;
using program::TensorId;

std::vector<Crossing> crossings_of(std::span<const Segment> segments) {
  std::map<TensorId, Crossing> found;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (const TensorId id : segments[s].inputs)
      if (const auto made = found.find(id); made != found.end())
        made->second.last = s;
    for (const TensorId id : segments[s].outputs)
      found.emplace(id, Crossing{id, s, s});
  }
  std::vector<Crossing> crossings;
  for (const auto &[id, each] : found)
    crossings.push_back(each);
  return crossings;
}

bool are_together(const Crossing &a, const Crossing &b) {
  return a.first <= b.last && b.first <= a.last;
}

} // namespace

// Largest first, each at the lowest offset that is free.
Crossings place_crossings(const Program &whole, std::span<const Segment> segments,
                          std::int64_t alignment, const std::function<bool(TensorId)> &is_placed) {
  const auto bytes_of = [&](const Crossing &each) {
    const program::Tensor &tensor = whole[each.tensor];
    const std::int64_t bytes = program::elems(tensor.shape) * size_bytes(tensor.type);
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<Crossing> crossings = crossings_of(segments);
  std::erase_if(crossings, [&](const Crossing &each) { return is_placed(each.tensor); });
  std::stable_sort(crossings.begin(), crossings.end(),
                   [&](const Crossing &a, const Crossing &b) { return bytes_of(a) > bytes_of(b); });
  Crossings placed; // by offset
  for (Crossing &each : crossings) {
    for (const Crossing &other : placed.tensors)
      if (are_together(each, other) && other.offset < each.offset + bytes_of(each))
        each.offset = std::max(each.offset, other.offset + bytes_of(other));
    placed.bytes = std::max(placed.bytes, each.offset + bytes_of(each));
    const auto behind =
        std::find_if(placed.tensors.begin(), placed.tensors.end(),
                     [&](const Crossing &other) { return other.offset > each.offset; });
    placed.tensors.insert(behind, each);
  }
  return placed;
}

} // namespace tilefuse::train
