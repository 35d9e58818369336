// SPDX-License-Identifier: Apache-2.0
#include "poly/sum_of_sums.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "poly/group.h"

namespace tilefuse::poly {
namespace {

using nest::Dim;
using nest::Linear;
using nest::Nest;
using nest::Operand;

bool is_plain_sum(const Nest &nest) {
  return nest.agg == program::Agg::Sum && nest.constraints.empty() && nest::positions(nest) == 0;
}

// The index that a subscript is.
std::optional<IndexId> only_index(const Linear &form) {
  std::optional<IndexId> only;
  for (const IndexId i : form.coeff.ids())
    if (form.coeff[i] != 0) {
      if (only || form.coeff[i] != 1)
        return std::nullopt;
      only = i;
    }
  return form.constant == 0 ? only : std::nullopt;
}

// By index of the inner nest the outer one's that it is; none: it is summed inside.
std::optional<Indexed<IndexId, std::optional<IndexId>>> matched(const Nest &inner,
                                                                const Operand &read) {
  const auto dims = match_dims(read, inner);
  if (!dims)
    return std::nullopt;
  Indexed<IndexId, std::optional<IndexId>> to(inner.indices.size(), std::nullopt);
  for (std::size_t d = 0; d < read.dims.size(); ++d) {
    if (!(*dims)[d])
      continue;
    to[*(*dims)[d]] = only_index(read.dims[d].at);
    if (!to[*(*dims)[d]] || read.dims[d].guarded)
      return std::nullopt;
  }
  return to;
}

Linear renamed(const Linear &form, const Indexed<IndexId, std::optional<IndexId>> &to,
               std::size_t indices) {
  Linear result{form.constant, std::vector<std::int64_t>(indices, 0)};
  for (const IndexId i : form.coeff.ids())
    if (to[i])
      result.coeff[*to[i]] = form.coeff[i];
  return result;
}

} // namespace

std::optional<Nest> sum_of_sums(const Nest &inner, const Nest &outer) {
  if (!is_plain_sum(inner) || !is_plain_sum(outer) || outer.comb != program::Comb::None ||
      outer.inputs.size() != 1 || !inner.extras.empty() || inner.acc_type != outer.acc_type ||
      inner.post != program::acc(inner.acc_type) || type_of(inner, inner.out) != inner.acc_type)
    return std::nullopt;
  auto to = matched(inner, outer.inputs[0]);
  if (!to)
    return std::nullopt;
  Nest whole = outer;
  whole.name = inner.name;
  whole.comb = inner.comb;
  whole.term = inner.term;
  for (const IndexId i : reduced_indices(inner)) {
    (*to)[i] = whole.indices.next_id();
    whole.indices.push_back(inner.indices[i]);
  }
  const std::size_t indices = whole.indices.size();
  whole.inputs = inner.inputs;
  for (Operand &input : whole.inputs)
    for (Dim &dim : input.dims)
      dim.at = renamed(dim.at, *to, indices);
  whole.slots = inner.slots;
  const auto take = [&](Operand &operand) {
    operand.slot = static_cast<SlotId>(at(operand.slot) + inner.slots.size());
    for (Dim &dim : operand.dims)
      dim.at.coeff.resize(indices, 0);
  };
  for (const nest::Slot &slot : outer.slots)
    whole.slots.push_back(slot);
  take(whole.out);
  for (Operand &extra : whole.extras)
    take(extra);
  return whole;
}

} // namespace tilefuse::poly
