// SPDX-License-Identifier: Apache-2.0
#include "program/precision/moved_grid.h"

#include <algorithm>

#include "base/index.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// The dimension of the result that an index of a contraction is, alone; kNowhere where it is none.
std::size_t in_result(const Contraction &body, int index) {
  std::size_t found = kNowhere;
  for (std::size_t d = 0; d < body.out.size(); ++d) {
    if (!uses(body.out[d], static_cast<std::size_t>(index)))
      continue;
    if (found != kNowhere || plain_index(body.out[d]) != index)
      return kNowhere;
    found = d;
  }
  return found;
}

// For each dimension of an operand the dimension of the result that it is, and kNowhere for what
// only other indices move. Nothing where an index of the result moves it together with others.
std::optional<std::vector<std::size_t>> dims_in_result(const Contraction &body,
                                                       const Access &access) {
  std::vector<std::size_t> dims;
  for (const Affine &subscript : access.subscripts) {
    const int index = plain_index(subscript);
    dims.push_back(index < 0 ? kNowhere : in_result(body, index));
    for (std::size_t i = 0; i < subscript.coeff.size(); ++i)
      if (dims.back() == kNowhere && uses(subscript, i) && uses(body.out, static_cast<int>(i)))
        return std::nullopt;
  }
  return dims;
}

// Full rank, with 1 in front.
Shape padded_to(const Shape &shape, std::size_t rank) {
  Shape result(rank - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

} // namespace

std::optional<Grid> viewed_grid(const Grid &grid, const Shape &from, const Shape &to) {
  if (grid.is_single())
    return grid;
  const Shape own = padded_to(grid.shape, from.size());
  std::size_t first = 0, last = from.size(); // what it varies along, all of it
  while (own[first] == 1)
    ++first;
  while (own[last - 1] == 1)
    --last;
  std::int64_t before = 1, count = 1;
  for (std::size_t d = 0; d < last; ++d)
    (d < first ? before : count) *= from[d];
  for (std::size_t d = first; d < last; ++d)
    if (own[d] != from[d])
      return std::nullopt;
  Grid result{Shape(to.size(), 1), grid.values};
  std::size_t d = 0;
  std::int64_t skipped = 1, kept = 1;
  while (d < to.size() && skipped < before)
    skipped *= to[d++];
  while (d < to.size() && kept < count) {
    result.shape[d] = to[d];
    kept *= to[d++];
  }
  return skipped == before && kept == count ? std::optional(result) : std::nullopt;
}

std::optional<Term> moved_term(const Program &program, const Statement &statement,
                               const Term &term) {
  Term result = term;
  for (Grid Term::*grid : {&Term::offset, &Term::scale}) {
    std::optional<Grid> moved;
    if (const auto *view = std::get_if<View>(&statement.body))
      moved = viewed_grid(term.*grid, program[view->in].shape, program[statement.out].shape);
    else if (const auto &body = std::get<Contraction>(statement.body); !body.init)
      moved = result_grid(program, statement, body.in[0], term.*grid);
    if (!moved)
      return std::nullopt;
    result.*grid = *moved;
  }
  return result;
}

std::optional<Grid> result_grid(const Program &program, const Statement &statement,
                                const Access &access, const Grid &grid) {
  if (grid.is_single())
    return grid;
  const auto &body = std::get<Contraction>(statement.body);
  const Shape &from = program[access.tensor].shape, &to = program[statement.out].shape;
  const Shape own = padded_to(grid.shape, from.size()), steps = row_major(own);
  Grid result{Shape(to.size(), 1), {}};
  std::vector<std::size_t> source(to.size(), kNowhere);
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (own[d] == 1)
      continue;
    const int index = plain_index(access.subscripts[d]);
    const std::size_t at = index < 0 ? kNowhere : in_result(body, index);
    if (at == kNowhere || to[at] != own[d] || source[at] != kNowhere)
      return std::nullopt;
    result.shape[at] = own[d];
    source[at] = d;
  }
  const Shape strides = row_major(result.shape);
  for (std::int64_t i = 0; i < elems(result.shape); ++i) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < to.size(); ++d)
      if (source[d] != kNowhere)
        element += i / strides[d] % result.shape[d] * steps[source[d]];
    result.values.push_back(grid.values[at(element)]);
  }
  return result;
}

std::optional<Grid> summed_grid(const Program &program, const Statement &statement,
                                const Access &access, const Tensor &operand) {
  const auto &body = std::get<Contraction>(statement.body);
  const auto dims = dims_in_result(body, access);
  if (!dims)
    return std::nullopt;
  Grid sums{Shape(program[statement.out].shape.size(), 1), {}};
  for (std::size_t d = 0; d < dims->size(); ++d)
    if ((*dims)[d] != kNowhere)
      sums.shape[(*dims)[d]] = operand.shape[d];
  sums.values.assign(static_cast<std::size_t>(elems(sums.shape)), 0);
  const Shape strides = row_major(sums.shape), own = row_major(operand.shape);
  for (std::int64_t i = 0; i < elems(operand.shape); ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims->size(); ++d)
      if ((*dims)[d] != kNowhere)
        place += i / own[d] % operand.shape[d] * strides[(*dims)[d]];
    sums.values[at(place)] += load_element(operand.data->data(), operand.type, i);
  }
  return sums;
}

} // namespace tilefuse::program
