// SPDX-License-Identifier: Apache-2.0
#include "launch/between.h"
#include "nest/index.h"

#include <algorithm>
#include <utility>

namespace tilefuse::launch {
namespace {

using nest::Dim;
using nest::Nest;

// What moves a subscript: elements per step and steps, slowest first.
using Moves = std::vector<std::pair<std::int64_t, std::int64_t>>;

Moves moves(const Nest &nest, const Dim &dim) {
  Moves found;
  for (const nest::IndexId i : nest.indices.ids())
    if (dim.at.coeff[i] != 0 && extent(nest, i) > 1)
      found.emplace_back(dim.at.coeff[i], extent(nest, i));
  return found;
}

bool is_constant(const Nest &nest) {
  return nest.inputs.empty() && nest.extras.empty() && nest.constraints.empty() &&
         nest.post.kind == program::Expr::Kind::Const;
}

// Strides of the next slower dimensions, 0 behind the slowest; empty where rows overlap.
std::vector<std::int64_t> outer_strides(const std::vector<Dim> &dims) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].size > 1)
      order.push_back(d);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return dims[a].stride < dims[b].stride; });
  std::vector<std::int64_t> outer(dims.size(), 0);
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    const Dim &dim = dims[order[k]];
    outer[order[k]] = dims[order[k + 1]].stride;
    if (dim.size * dim.stride > outer[order[k]])
      return {};
  }
  return outer;
}

} // namespace

std::optional<Between> between(const Nest &results, const Nest &constants) {
  const std::vector<Dim> &dims = results.out.dims;
  const std::vector<std::int64_t> outer = outer_strides(dims);
  if (!is_constant(constants) || outer.empty() || dims.size() != constants.out.dims.size() ||
      results.out.offset != constants.out.offset)
    return std::nullopt;
  Between found{.offset = results.out.offset, .value = constants.post.value};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Dim &to = constants.out.dims[d];
    const Moves here = moves(results, dims[d]), there = moves(constants, to);
    if (dims[d].size != to.size || dims[d].stride != to.stride)
      return std::nullopt;
    found.apart += (to.at.constant - dims[d].at.constant) * to.stride;
    if (here == there)
      continue;
    const std::int64_t count = there.empty() ? 1 : there[0].second;
    const bool is_shorter =
        here.size() == 1 && here[0].first > 0 && count < here[0].second &&
        (there.empty() || (there.size() == 1 && there[0].first == here[0].first));
    if (!is_shorter)
      return std::nullopt;
    found.edges.push_back({.stride = to.stride,
                           .outer = outer[d],
                           .end = dims[d].at.constant + here[0].first * (count - 1) + 1});
  }
  return found;
}

} // namespace tilefuse::launch
