// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient_sum.h"

#include <fmt/format.h>

#include <numeric>

#include "base/index.h"
#include "program/gradient/gradient_broadcast.h"
#include "program/gradient/gradient_points.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

// 0, 1, … along an index that is a whole dimension of `size` elements.
Access numbers(GradientBuilder &builder, std::size_t index, std::int64_t size,
               std::size_t indices) {
  std::vector<std::int64_t> values(at(size));
  std::iota(values.begin(), values.end(), 0);
  Affine along{std::vector<Rational>(indices), Rational(0)};
  along.coeff[index] = Rational(1);
  return {builder.constant(DType::I32, {size}, values), {along}};
}

// Of what is read at positions: elements whose number is the position take the gradient, times the
// factor where there is one.
void scatter(GradientBuilder &builder, const Contraction &from, const Access &gradient,
             Contraction &into) {
  const DType type = traits(builder.program()[from.in[0].tensor].type).value;
  const std::size_t values = from.in.size() - from.picks.size();
  into.comb = Comb::Term;
  into.in = {gradient};
  into.in.insert(into.in.end(), from.in.begin() + 1, from.in.end());
  Expr value = operand(0, type);
  if (values == 2)
    value = call(ScalarOp::Mul, {value, operand(1, type)});
  const Shape shape = builder.program()[from.in[0].tensor].shape;
  const std::vector<Affine> &subscripts = from.in[0].subscripts;
  for (std::size_t j = 0; j < from.picks.size(); ++j) {
    const std::size_t index = from.picks[j];
    std::size_t dim = 0;
    while (!is_index(subscripts[dim], index))
      ++dim;
    const int position = static_cast<int>(values + j);
    const int number = static_cast<int>(into.in.size());
    into.in.push_back(numbers(builder, index, shape[dim], from.indices.size()));
    const Expr is_there = call(ScalarOp::Eq, {operand(position, type), operand(number, type)});
    value = call(ScalarOp::Select, {is_there, value, constant(0, type)});
  }
  into.term = std::move(value);
}

// The operands of the contraction whose result is the gradient by operand k; none where it has no
// gradient.
bool exchange_roles(GradientBuilder &builder, const Contraction &from, const Access &gradient,
                    std::size_t k, Contraction &into) {
  switch (from.comb) {
  case Comb::None:
    into.in = {gradient};
    return true;
  case Comb::Mul:
    into.comb = Comb::Mul;
    into.in = {gradient, from.in[1 - k]};
    return true;
  case Comb::Add:
    into.in = {gradient};
    restrict_to(builder, into, std::span(from.in).subspan(1 - k, 1));
    return true;
  case Comb::Equal:
    return false;
  case Comb::Select:
    into.comb = Comb::Select;
    into.in = {from.in[0], from.in[1], gradient};
    return k == 2;
  case Comb::Pick:
    if (k == 0) {
      scatter(builder, from, gradient, into);
      return true;
    }
    into.comb = Comb::Pick;
    into.picks = from.picks;
    into.in = from.in;
    into.in[k] = gradient;
    return k < from.in.size() - from.picks.size();
  case Comb::Term:
    break;
  }
  return false;
}

} // namespace

void differentiate_sum(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                       TensorId gradient) {
  const std::vector<Row> all = all_rows(builder.program(), out, contraction);
  for (std::size_t k = 0; k < contraction.in.size(); ++k) {
    const Access &access = contraction.in[k];
    if (!builder.is_wanted(access.tensor))
      continue;
    Contraction body = same_points(contraction);
    body.out = access.subscripts;
    const bool once = tell_apart(rows_of(builder.program(), access), all, body.indices.size());
    body.agg = once && contraction.comb != Comb::Pick ? Agg::Assign : Agg::Sum;
    if (!exchange_roles(builder, contraction, {gradient, contraction.out}, k, body))
      continue;
    const Tensor tensor = builder.program()[access.tensor];
    const Tensor result{
        .name = builder.name_of(access.tensor), .type = tensor.type, .shape = tensor.shape};
    const std::optional<TensorId> map = as_broadcast(builder, result, body);
    builder.contribute(access.tensor, map ? *map : builder.emit(result, std::move(body)));
  }
}

} // namespace tilefuse::program
