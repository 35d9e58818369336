// SPDX-License-Identifier: Apache-2.0
#include "schedule/roles.h"

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

// A reduced index that shares a subscript with an output index.
bool is_tap(const Nest &nest, const nest::Operand &data, IndexId index) {
  for (const nest::Dim &dim : data.dims)
    if (dim.at.coeff[index] != 0)
      for (const IndexId i : output_indices(nest))
        if (dim.at.coeff[i] != 0)
          return true;
  return false;
}

} // namespace

std::optional<Roles> roles_of(const Nest &nest) {
  if (nest.inputs.size() != 2 || nest.agg != program::Agg::Sum || nest.comb != program::Comb::Mul)
    return std::nullopt;
  Roles roles;
  if (nest.inputs[0].constant && !nest.inputs[1].constant)
    std::swap(roles.data, roles.filter);
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  const auto by_stride = [&](IndexId a, IndexId b) {
    return std::llabs(out.coeff[a]) < std::llabs(out.coeff[b]);
  };
  const auto is_single = [&](IndexId i) { return extent(nest, i) == 1; };
  for (const IndexId i : output_indices(nest)) {
    if (is_single(i))
      continue;
    const bool by_data = moves(data, i);
    const bool by_filter = moves(filter, i);
    std::vector<IndexId> &list =
        by_data == by_filter ? roles.shared : (by_data ? roles.pixels : roles.channels);
    list.insert(std::upper_bound(list.begin(), list.end(), i, by_stride), i);
  }
  for (const IndexId i : reduced_indices(nest))
    (is_tap(nest, data, i) && !is_single(i) ? roles.taps : roles.depth).push_back(i);
  return roles;
}

} // namespace tilefuse::schedule
