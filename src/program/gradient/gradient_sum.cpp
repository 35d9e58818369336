// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient_sum.h"

#include "program/gradient/gradient_broadcast.h"
#include "program/gradient/gradient_points.h"

namespace tilefuse::program {
namespace {

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
    body.agg = once ? Agg::Assign : Agg::Sum;
    if (!exchange_roles(builder, contraction, {gradient, contraction.out}, k, body))
      continue;
    const Tensor tensor = builder.program()[access.tensor];
    const Tensor result{.name = builder.name_of(access.tensor),
                        .type = tensor.type,
                        .shape = tensor.shape};
    const std::optional<TensorId> map = as_broadcast(builder, result, body);
    builder.contribute(access.tensor, map ? *map : builder.emit(result, std::move(body)));
  }
}

} // namespace tilefuse::program
