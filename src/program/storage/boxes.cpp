// SPDX-License-Identifier: Apache-2.0
#include "program/storage/boxes.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::program {
namespace {

constexpr std::size_t kMaxPieces = 4096;

// Appends to `rest` the pieces of `box` outside `hole`.
void subtract(Box box, const Box &hole, std::vector<Box> &rest) {
  if (are_disjoint(box, hole)) {
    rest.push_back(std::move(box));
    return;
  }
  for (std::size_t d = 0; d < box.lo.size(); ++d) {
    if (box.lo[d] < hole.lo[d]) {
      rest.push_back(box);
      rest.back().hi[d] = hole.lo[d];
      box.lo[d] = hole.lo[d];
    }
    if (box.hi[d] > hole.hi[d]) {
      rest.push_back(box);
      rest.back().lo[d] = hole.hi[d];
      box.hi[d] = hole.hi[d];
    }
  }
}

// The position of the one index that the subscript is, plus an integer constant.
std::optional<std::size_t> plain_index(const Affine &subscript) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    if (subscript.coeff[i].is_zero())
      continue;
    if (found || subscript.coeff[i] != Rational(1))
      return std::nullopt;
    found = i;
  }
  return subscript.constant.is_integer() ? found : std::nullopt;
}

Affine index_alone(std::size_t index, std::size_t count) {
  Affine affine;
  affine.coeff.resize(count);
  affine.coeff[index] = 1;
  return affine;
}

} // namespace

Box whole(const Shape &shape) { return {Shape(shape.size(), 0), shape}; }

bool is_empty(const Box &box) {
  for (std::size_t d = 0; d < box.lo.size(); ++d)
    if (box.lo[d] >= box.hi[d])
      return true;
  return false;
}

bool are_disjoint(const Box &a, const Box &b) {
  for (std::size_t d = 0; d < a.lo.size(); ++d)
    if (a.hi[d] <= b.lo[d] || b.hi[d] <= a.lo[d])
      return true;
  return is_empty(a) || is_empty(b);
}

bool is_covered(const Box &box, std::span<const Box> parts) {
  std::vector<Box> rest;
  if (!is_empty(box))
    rest.push_back(box);
  for (const Box &part : parts) {
    std::vector<Box> left;
    for (Box &piece : rest)
      subtract(std::move(piece), part, left);
    rest = std::move(left);
    if (rest.size() > kMaxPieces)
      return false;
  }
  return rest.empty();
}

bool spans_result(const Shape &shape, const Contraction &contraction) {
  if (contraction.init)
    return false;
  std::vector<bool> used(contraction.indices.size(), false);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    bool has_index = shape[d] == 1;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (contraction.out[d].coeff[i].is_zero())
        continue;
      if (used[i])
        return false;
      used[i] = has_index = true;
    }
    if (!has_index)
      return false;
  }
  return true;
}

std::optional<Slice> as_slice(const Program &program, const Statement &statement) {
  const auto *contraction = std::get_if<Contraction>(&statement.body);
  if (!contraction || contraction->agg != Agg::Assign || contraction->comb != Comb::None ||
      !contraction->constraints.empty())
    return std::nullopt;
  const Access &access = contraction->in.front();
  const Shape &from = program[access.tensor].shape;
  const Shape &to = program[statement.out].shape;
  if (from.size() != to.size() || contraction->indices.size() != to.size())
    return std::nullopt;
  Slice slice{access.tensor, Shape(to.size(), 0)};
  std::vector<bool> seen(to.size(), false);
  for (std::size_t d = 0; d < to.size(); ++d) {
    const auto read = plain_index(access.subscripts[d]);
    const auto written = plain_index(contraction->out[d]);
    if (!read || read != written || seen[*read])
      return std::nullopt;
    if (!access.subscripts[d].constant.is_zero())
      return std::nullopt;
    seen[*read] = true;
    slice.at[d] = contraction->out[d].constant.num();
    if (slice.at[d] < 0 || slice.at[d] > to[d] - from[d])
      return std::nullopt;
  }
  return slice;
}

Box box_of(const Slice &slice, const Program &program) {
  Box box{slice.at, slice.at};
  for (std::size_t d = 0; d < box.hi.size(); ++d)
    box.hi[d] += program[slice.in].shape[d];
  return box;
}

Contraction identity(TensorId in, std::size_t rank) {
  Contraction copy;
  copy.agg = Agg::Assign;
  for (std::size_t d = 0; d < rank; ++d) {
    copy.indices.push_back(fmt::format("i{}", d));
    copy.out.push_back(index_alone(d, rank));
  }
  copy.in.push_back({in, copy.out});
  return copy;
}

} // namespace tilefuse::program
