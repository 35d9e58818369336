// SPDX-License-Identifier: Apache-2.0
// Questions about one index or one operand of a nest that every level below asks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "base/index.h"
#include "nest/nest.h"

namespace tilefuse::nest {

// Output indices of a nest, and reduced ones.
inline Ids<IndexId> output_indices(const Nest &nest) { return ids<IndexId>(nest.output_indices); }
inline Ids<IndexId> reduced_indices(const Nest &nest) {
  return {nest.output_indices, static_cast<int>(nest.indices.size())};
}
inline bool is_output(const Nest &nest, IndexId index) {
  return to_int(index) < nest.output_indices;
}

// Points of an index, by its name or its number.
template <typename I>
requires(std::integral<I> || Id<I>) std::int64_t extent(const Nest &nest, I index) {
  return nest.indices[at(index)].extent;
}

// Whether some subscript of an operand changes with an index.
template <typename I>
requires(std::integral<I> || Id<I>) bool moves(const Operand &operand, I index) {
  return std::any_of(operand.dims.begin(), operand.dims.end(),
                     [&](const Dim &dim) { return dim.at.coeff[at(index)] != 0; });
}

// The function of indices that none moves, and that of one index, by steps.
inline Linear still(const Nest &nest) {
  return {.coeff = Indexed<IndexId, std::int64_t>(nest.indices.size(), 0)};
}
inline Linear along(const Nest &nest, IndexId index, std::int64_t step = 1) {
  Linear moved = still(nest);
  moved.coeff[index] = step;
  return moved;
}

// The slot that an operand of the nest lies in, and the type of its elements in memory.
inline const Slot &slot_of(const Nest &nest, const Operand &operand) {
  return nest.slots[operand.slot];
}
inline DType type_of(const Nest &nest, const Operand &operand) {
  return slot_of(nest, operand).type;
}

} // namespace tilefuse::nest
