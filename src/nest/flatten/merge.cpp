// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/index.h"
#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

constexpr std::size_t kMaxName = 16;

// Positions of the dimensions that are exactly the outer and the inner index; both or neither.
struct DimPair {
  std::optional<std::size_t> outer;
  std::optional<std::size_t> inner;
};

bool is_plain(const Dim &dim, std::size_t index) {
  for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
    if (dim.at.coeff[i] != (i == index ? 1 : 0))
      return false;
  return dim.at.constant == 0 && !dim.guarded && !dim.by;
}

// Nothing when the operand does not step through (outer, inner) contiguously.
std::optional<DimPair> find_pair(const Nest &nest, const Operand &operand, std::size_t outer,
                                 std::size_t inner) {
  DimPair pair;
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const Dim &dim = operand.dims[d];
    if (dim.at.coeff[outer] == 0 && dim.at.coeff[inner] == 0)
      continue;
    if (!pair.outer && is_plain(dim, outer))
      pair.outer = d;
    else if (!pair.inner && is_plain(dim, inner))
      pair.inner = d;
    else
      return std::nullopt;
  }
  if (pair.outer.has_value() != pair.inner.has_value())
    return std::nullopt;
  if (!pair.outer)
    return pair;
  const Dim &slow = operand.dims[*pair.outer];
  const Dim &fast = operand.dims[*pair.inner];
  const bool contiguous = fast.size == nest.indices[inner].extent &&
                          static_cast<__int128>(fast.size) * fast.stride == slow.stride;
  return contiguous ? std::optional(pair) : std::nullopt;
}

std::vector<Operand *> operands(Nest &nest) {
  std::vector<Operand *> all;
  for (Operand &input : nest.inputs)
    all.push_back(&input);
  all.push_back(&nest.out);
  for (Operand &extra : nest.extras)
    all.push_back(&extra);
  return all;
}

bool can_merge(Nest &nest, std::size_t outer, std::size_t inner) {
  for (const Constraint &constraint : nest.constraints)
    if (constraint.expr.coeff[outer] != 0 || constraint.expr.coeff[inner] != 0)
      return false;
  bool used = false;
  for (const Operand *operand : operands(nest)) {
    const std::optional<DimPair> pair = find_pair(nest, *operand, outer, inner);
    if (!pair)
      return false;
    used |= pair->outer.has_value();
  }
  return used;
}

std::string merged_name(const Nest &nest, std::size_t outer, std::size_t inner) {
  std::string name = nest.indices[outer].name + "_" + nest.indices[inner].name;
  const bool taken = std::any_of(nest.indices.begin(), nest.indices.end(),
                                 [&](const Index &index) { return index.name == name; });
  return taken || name.size() > kMaxName ? nest.indices[outer].name : name;
}

void merge_dims(Operand &operand, const DimPair &pair) {
  if (!pair.outer)
    return;
  Dim &slow = operand.dims[*pair.outer];
  const Dim &fast = operand.dims[*pair.inner];
  slow.size = checked_mul(slow.size, fast.size);
  slow.stride = fast.stride;
  operand.dims.erase(operand.dims.begin() + static_cast<std::ptrdiff_t>(*pair.inner));
}

// The outer index takes over the inner one's points; the inner one disappears.
void merge(Nest &nest, std::size_t outer, std::size_t inner) {
  const auto gone = static_cast<std::ptrdiff_t>(inner);
  for (Operand *operand : operands(nest)) {
    merge_dims(*operand, *find_pair(nest, *operand, outer, inner));
    for (Dim &dim : operand->dims)
      dim.at.coeff.erase(dim.at.coeff.begin() + gone);
  }
  for (Constraint &constraint : nest.constraints)
    constraint.expr.coeff.erase(constraint.expr.coeff.begin() + gone);
  nest.indices[outer].name = merged_name(nest, outer, inner);
  nest.indices[outer].extent = checked_mul(nest.indices[outer].extent, nest.indices[inner].extent);
  if (inner < static_cast<std::size_t>(nest.output_indices))
    --nest.output_indices;
  nest.indices.erase(nest.indices.begin() + gone);
}

bool merge_any(Nest &nest, std::size_t begin, std::size_t end) {
  for (std::size_t outer = begin; outer < end; ++outer)
    for (std::size_t inner = begin; inner < end; ++inner)
      if (outer != inner && can_merge(nest, outer, inner)) {
        merge(nest, outer, inner);
        return true;
      }
  return false;
}

} // namespace

std::optional<MergedNest> merge_into_one(const Nest &nest, const std::vector<IndexId> &indices) {
  const Ids<IndexId> all = nest.indices.ids();
  MergedNest result{nest, std::vector(all.begin(), all.end())};
  for (std::size_t i = 1; i < indices.size(); ++i) {
    const IndexId outer = result.at[indices[0]];
    const IndexId inner = result.at[indices[i]];
    if (!can_merge(result.nest, at(outer), at(inner)))
      return std::nullopt;
    merge(result.nest, at(outer), at(inner));
    const auto moved = [&](IndexId index) { // nearer by the one that is gone
      return IndexId{to_int(index) - (inner < index ? 1 : 0)};
    };
    for (IndexId &at : result.at)
      at = moved(at == inner ? outer : at);
  }
  return result;
}

Nest merge_indices(const Nest &nest) {
  Nest merged = nest;
  while (
      merge_any(merged, 0, static_cast<std::size_t>(merged.output_indices)) ||
      merge_any(merged, static_cast<std::size_t>(merged.output_indices), merged.indices.size())) {
  }
  return merged;
}

} // namespace tilefuse::nest
