// SPDX-License-Identifier: Apache-2.0
// Contraction statements → program contractions.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/instantiate.h"

namespace tilefuse::tile {

using program::Affine;
using program::TensorId;

namespace {

// Begins the names of indices that stand for subscripts found elsewhere; no Tile text can.
constexpr std::string_view kPicked = "_at";

std::vector<std::string> indices_of(const ContractionBody &body) {
  std::vector<std::string> indices;
  for (const Expression &e : body.subscripts)
    collect_indices(e, indices);
  for (const Reference &reference : body.in)
    for (const Expression &e : reference.subscripts) {
      collect_indices(e, indices);
      if (e.kind == Expression::Kind::Element)
        indices.push_back(fmt::format("{}{}", kPicked, indices.size()));
    }
  for (const PolyConstraint &constraint : body.constraints)
    collect_indices(constraint.poly, indices);
  return indices;
}

// Whether `affine` is c * index + k with c != 0.
bool is_of_one_index(const Affine &affine, std::size_t index) {
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    if (affine.coeff[i].is_zero() == (i == index))
      return false;
  return true;
}

// Whether 0 <= affine < bound leaves the index at most one value: two values
// differ by |c| at least.
bool pins(const Affine &affine, std::size_t index, std::int64_t bound) {
  if (!is_of_one_index(affine, index))
    return false;
  const Rational &c = affine.coeff[index];
  const Rational step = c < Rational(0) ? Rational(0) - c : c;
  return step > Rational(bound - 1);
}

// The name of an index in a program: an identifier, which a prime is not.
std::string identifier(const std::string &index) {
  std::string name(plain_name(index));
  return name.ends_with('\'') ? name.substr(0, name.size() - 1) + "_prime" : name;
}

} // namespace

program::Access Instantiation::access(const Frame &frame, const Reference &reference,
                                      const std::vector<std::string> &indices,
                                      std::span<const std::size_t> picks) const {
  program::Access access{frame.tensor(reference.tensor), {}};
  const std::size_t rank = program_[access.tensor].shape.size();
  if (rank != reference.subscripts.size())
    frame.fail(ErrorCode::Shape, reference.at,
               fmt::format("{} is {}, got {} subscripts", reference.tensor, describe(access.tensor),
                           reference.subscripts.size()));
  for (const Expression &e : reference.subscripts) {
    if (e.kind != Expression::Kind::Element) {
      access.subscripts.push_back(frame.affine(e, indices));
      continue;
    }
    Affine found{std::vector<Rational>(indices.size()), Rational(0)};
    found.coeff[picks.front()] = Rational(1);
    picks = picks.subspan(1);
    access.subscripts.push_back(std::move(found));
  }
  return access;
}

// The tensors that say subscripts of the first operand follow the others.
void Instantiation::add_positions(const Frame &frame, const ContractionBody &body,
                                  program::Contraction &c) const {
  if (c.picks.empty())
    return;
  c.comb = program::Comb::Pick;
  for (const Expression &e : body.in.front().subscripts) {
    if (e.kind != Expression::Kind::Element)
      continue;
    c.in.push_back(access(frame, {e.name, e.at, e.args}, c.indices, {}));
    const DType type = program_[c.in.back().tensor].type;
    if (is_float(type) || type == DType::Bool)
      frame.fail(ErrorCode::Type, e.at,
                 fmt::format("{} is {}, a subscript needs integers; cast it, as in cast_i32({})",
                             e.name, describe(c.in.back().tensor), e.name));
  }
}

// The type of the operands met: of the third where two are compared to select it, bool where two
// are compared and not counted.
DType Instantiation::contraction_type(const Frame &frame, Position at,
                                      const ContractionBody &body) const {
  using program::Agg;
  using program::Comb;
  const bool adds = body.agg == Agg::Sum || body.agg == Agg::Product;
  if (body.comb == Comb::Equal)
    return adds ? DType::I32 : DType::Bool;
  std::vector<program::Expr> operands;
  for (const Reference &reference : body.in)
    operands.push_back(program::operand(0, program_[frame.tensor(reference.tensor)].type));
  DType type = operands.back().type;
  if (operands.size() == 2)
    type = program::call(ScalarOp::Add, std::move(operands)).type;
  const bool combines = body.comb == Comb::Mul || body.comb == Comb::Add;
  if (type == DType::Bool && (combines || adds))
    frame.fail(ErrorCode::Type, at,
               "bool has no sums and products; cast the operands, as in cast_i32(X)");
  return type;
}

void Instantiation::check_assign(const Frame &frame, Position at,
                                 const program::Contraction &c) const {
  if (c.agg != program::Agg::Assign)
    return;
  for (std::size_t i = 0; i < c.indices.size(); ++i) {
    bool single = std::any_of(c.out.begin(), c.out.end(),
                              [i](const Affine &a) { return !a.coeff[i].is_zero(); });
    for (const program::Access &access : c.in)
      for (std::size_t d = 0; d < access.subscripts.size(); ++d)
        single = single || pins(access.subscripts[d], i, program_[access.tensor].shape[d]);
    for (const program::Constraint &constraint : c.constraints)
      single = single || pins(constraint.expr, i, constraint.bound);
    if (!single)
      frame.fail(ErrorCode::Shape, at,
                 fmt::format("index {} takes several values for one element of "
                             "the result; '=' assigns once",
                             c.indices[i]));
  }
}

void Instantiation::check_init(const Frame &frame, const Reference &init,
                               const program::Tensor &result) const {
  const TensorId id = frame.tensor(init.tensor);
  const program::Tensor &tensor = program_[id];
  if (tensor.shape != result.shape || tensor.type != result.type)
    frame.fail(tensor.shape != result.shape ? ErrorCode::Shape : ErrorCode::Type, init.at,
               fmt::format("default {} is {}, need {}[{}]", init.tensor, describe(id),
                           to_string(result.type), fmt::join(result.shape, ", ")));
}

TensorId Instantiation::contraction(const Frame &frame, const Definition &statement,
                                    const ContractionBody &body) {
  program::Contraction c{.agg = body.agg, .comb = body.comb, .indices = indices_of(body)};
  for (const Expression &e : body.subscripts)
    c.out.push_back(frame.affine(e, c.indices));
  for (std::size_t i = 0; i < c.indices.size(); ++i)
    if (c.indices[i].starts_with(kPicked))
      c.picks.push_back(i);
  for (const Reference &reference : body.in)
    c.in.push_back(access(frame, reference, c.indices, c.picks));
  add_positions(frame, body, c);
  for (const PolyConstraint &constraint : body.constraints) {
    const std::int64_t bound = frame.integer(constraint.bound);
    if (bound < least_size_)
      frame.fail(
          ErrorCode::Shape, constraint.bound.at,
          fmt::format("the constraint's bound is {}, it must be at least {}", bound, least_size_));
    c.constraints.push_back({frame.affine(constraint.poly, c.indices), bound});
  }
  program::Tensor result{statement.name, contraction_type(frame, statement.at, body),
                         sizes(frame, statement.name, statement.at, body.sizes),
                         program::Role::Temporary, nullptr};
  if (body.init) {
    check_init(frame, *body.init, result);
    c.init = frame.tensor(body.init->tensor);
  }
  check_assign(frame, statement.at, c);
  std::transform(c.indices.begin(), c.indices.end(), c.indices.begin(), identifier);
  return emit(frame, statement.at, std::move(result), std::move(c));
}

} // namespace tilefuse::tile
