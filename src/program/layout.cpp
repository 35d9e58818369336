// SPDX-License-Identifier: Apache-2.0
#include "program/layout.h"

#include <algorithm>
#include <numeric>

namespace tilefuse::program {
namespace {

// Sets of tensors that should be laid out alike: union-find over TensorIds.
class Clusters {
public:
  explicit Clusters(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  std::size_t find(std::size_t i) {
    while (parent_[i] != i)
      i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

private:
  std::vector<std::size_t> parent_;
};

std::size_t at(TensorId id) { return static_cast<std::size_t>(to_int(id)); }

bool uses_index_of(const std::vector<Affine> &subscripts, const Affine &affine) {
  return std::any_of(subscripts.begin(), subscripts.end(), [&](const Affine &subscript) {
    for (std::size_t i = 0; i < affine.coeff.size(); ++i)
      if (!affine.coeff[i].is_zero() && !subscript.coeff[i].is_zero())
        return true;
    return false;
  });
}

bool is_convolution(const Contraction &contraction) {
  if (contraction.agg != Agg::Sum || contraction.comb != Comb::Mul || contraction.out.size() < 3)
    return false;
  return std::any_of(contraction.in.begin(), contraction.in.end(), [&](const Access &access) {
    return uses_index_of(access.subscripts, contraction.out[1]) &&
           !uses_index_of(access.subscripts, contraction.out[0]);
  });
}

} // namespace

Shape channels_last(const Shape &shape) {
  Shape strides(shape.size(), 1);
  std::int64_t stride = shape[1];
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (d == 1)
      continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

bool same_layout(const Shape &shape, const Shape &a, const Shape &b) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && a[d] != b[d])
      return false;
  return true;
}

std::optional<Shape> view_strides(const Shape &from, const Shape &strides, const Shape &to) {
  Shape result(to.size(), 1);
  std::size_t next = to.size(); // dimensions of `to` not placed yet
  std::int64_t block_stride = 1;
  std::int64_t block_elems =
      1; // of the contiguous block being gathered, from the innermost dimension out
  const auto place_block = [&] {
    std::int64_t placed = 1;
    while (next > 0 && placed < block_elems) {
      result[--next] = placed * block_stride;
      placed *= to[next];
    }
    return placed == block_elems;
  };
  for (std::size_t d = from.size(); d-- > 0;) {
    if (from[d] == 1)
      continue;
    if (strides[d] != block_elems * block_stride) {
      if (!place_block())
        return std::nullopt;
      block_stride = strides[d];
      block_elems = 1;
    }
    block_elems *= from[d];
  }
  if (!place_block())
    return std::nullopt;
  std::int64_t span = 1;
  for (std::size_t d = next; d < to.size(); ++d)
    span = std::max(span, result[d] * to[d]);
  std::fill_n(result.begin(), next, span);
  return result;
}

std::vector<bool> wants_channels_last(const Program &program) {
  Clusters clusters(program.tensors.size());
  std::vector<bool> seeds(program.tensors.size(), false);
  const auto is_candidate = [&](TensorId id) {
    return program[id].role == Role::Temporary && program[id].shape.size() >= 3;
  };
  for (const Statement &statement : program.statements) {
    const auto *contraction = std::get_if<Contraction>(&statement.body);
    if (std::holds_alternative<View>(statement.body) || !is_candidate(statement.out))
      continue;
    for (TensorId id : reads(statement))
      if (is_candidate(id) && program[id].shape.size() == program[statement.out].shape.size())
        clusters.join(at(id), at(statement.out));
    if (contraction && is_convolution(*contraction))
      seeds[at(statement.out)] = true;
  }
  std::vector<bool> has_seed(program.tensors.size(), false);
  for (std::size_t i = 0; i < seeds.size(); ++i)
    if (seeds[i])
      has_seed[clusters.find(i)] = true;
  std::vector<bool> result(program.tensors.size(), false);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool candidate = is_candidate(TensorId{static_cast<int>(i)});
    result[i] = candidate && program.tensors[i].shape[1] > 1 && has_seed[clusters.find(i)];
  }
  return result;
}

} // namespace tilefuse::program
