// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/movement.h"

#include <algorithm>

#include "base/index.h"
#include "program/rewrite/regroup.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

bool copies(const Contraction &body) {
  return body.agg == Agg::Assign && body.comb == Comb::None && !body.init &&
         body.constraints.empty() && body.out.size() == body.indices.size() &&
         names_every_index(body.out, body.indices.size());
}

// `form` over indices as one over the dimensions that are those indices.
Affine over_dimensions(const Affine &form, const std::vector<Affine> &out) {
  Affine result{std::vector<Rational>(out.size()), form.constant};
  for (std::size_t d = 0; d < out.size(); ++d) {
    const std::size_t index = at(plain_index(out[d]));
    result.coeff[d] = index < form.coeff.size() ? form.coeff[index] : Rational(0);
  }
  return result;
}

} // namespace

std::optional<Movement> movement_of(const Program &program, const Statement &statement) {
  if (const auto *view = std::get_if<View>(&statement.body))
    return Movement{view->in, std::nullopt};
  const auto *body = std::get_if<Contraction>(&statement.body);
  if (body == nullptr || !copies(*body))
    return std::nullopt;
  const Access &read = body->in[0];
  const Shape &shape = program[read.tensor].shape;
  if (program[read.tensor].type != program[statement.out].type)
    return std::nullopt;
  std::vector<Affine> subscripts;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    subscripts.push_back(over_dimensions(read.subscripts[d], body->out));
    if (!is_integral(subscripts[d]) ||
        !is_within(subscripts[d], shape[d], program[statement.out].shape))
      return std::nullopt;
  }
  return Movement{read.tensor, std::move(subscripts)};
}

std::optional<std::vector<std::size_t>> permutation_of(const Program &program,
                                                       const Movement &movement, TensorId out) {
  if (movement.is_view() || movement.subscripts->size() != program[out].shape.size())
    return std::nullopt;
  std::vector<std::size_t> to;
  for (std::size_t d = 0; d < movement.subscripts->size(); ++d) {
    const int dim = plain_index((*movement.subscripts)[d]);
    if (dim < 0 || program[out].shape[at(dim)] != program[movement.from].shape[d] ||
        std::find(to.begin(), to.end(), at(dim)) != to.end())
      return std::nullopt;
    to.push_back(at(dim));
  }
  return to;
}

Shape aligned_to(std::size_t rank, Shape shape) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

// The operand has all factors of a dimension, or none.
std::optional<Shape> broadcast_before_view(const Shape &aligned, const Shape &whole,
                                           const Shape &from) {
  const std::optional<Regrouping> groups = regroup(whole, from);
  if (!groups)
    return std::nullopt;
  std::vector<bool> has(groups->factors.size(), false);
  for (std::size_t d = 0; d < whole.size(); ++d)
    for (const std::size_t factor : groups->a[d])
      has[factor] = aligned[d] != 1;
  Shape result;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::vector<std::size_t> &factors = groups->b[d];
    const auto count = std::count_if(factors.begin(), factors.end(),
                                     [&](std::size_t factor) { return has[factor]; });
    if (count != 0 && at(count) != factors.size())
      return std::nullopt;
    result.push_back(count == 0 ? 1 : from[d]);
  }
  return result;
}

// Its dimensions in the other order, where that moves no element.
std::optional<Shape> broadcast_before_permutation(const Shape &aligned,
                                                  const std::vector<std::size_t> &to) {
  Shape result;
  std::size_t last = 0;
  for (const std::size_t dim : to) {
    result.push_back(aligned[dim]);
    if (aligned[dim] == 1)
      continue;
    if (dim < last)
      return std::nullopt;
    last = dim;
  }
  return result;
}

} // namespace tilefuse::program
