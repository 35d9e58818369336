// SPDX-License-Identifier: Apache-2.0
#include "program/storage/permutation.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

// The dimension that is exactly this index; none: another form.
std::optional<std::size_t> dimension_of(const std::vector<Affine> &subscripts, std::size_t index) {
  const auto found = std::find_if(subscripts.begin(), subscripts.end(),
                                  [&](const Affine &affine) { return is_index(affine, index); });
  if (found == subscripts.end())
    return std::nullopt;
  return static_cast<std::size_t>(found - subscripts.begin());
}

} // namespace

std::optional<Permutation> as_permutation(const Program &program, const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  if (body == nullptr || body->agg != Agg::Assign || body->comb != Comb::None ||
      !body->constraints.empty() || body->init)
    return std::nullopt;
  const Access &access = body->in.front();
  const Shape &from = program[access.tensor].shape;
  const Shape &to = program[statement.out].shape;
  if (from.size() != to.size() || body->indices.size() != to.size() ||
      program[access.tensor].type != program[statement.out].type)
    return std::nullopt;
  Permutation permutation{access.tensor, std::vector<std::size_t>(to.size())};
  for (std::size_t i = 0; i < body->indices.size(); ++i) {
    const auto written = dimension_of(body->out, i);
    const auto read = dimension_of(access.subscripts, i);
    if (!written || !read || to[*written] != from[*read])
      return std::nullopt;
    permutation.dims[*written] = *read;
  }
  return permutation;
}

Shape permuted_back(const Permutation &permutation, const Shape &strides) {
  Shape back(strides.size());
  for (std::size_t d = 0; d < strides.size(); ++d)
    back[permutation.dims[d]] = strides[d];
  return back;
}

} // namespace tilefuse::program
