// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/terms.h"

#include <algorithm>
#include <cmath>

#include "target/coarse.h"

namespace tilefuse::program {

namespace {

// A quotient that is a product in every bit.
bool divides_by_power_of_two(const Expr &expr) {
  int exponent = 0;
  return expr.op == ScalarOp::Div && expr.args[1].kind == Expr::Kind::Const &&
         std::abs(std::frexp(expr.args[1].value, &exponent)) == 0.5;
}

} // namespace

bool has_coarse_operations(const Expr &expr) {
  if (expr.kind == Expr::Kind::Call && expr.op == ScalarOp::Coarse)
    return false;
  if (expr.kind == Expr::Kind::Call && is_coarse(expr.op, Coarse::All) &&
      !divides_by_power_of_two(expr))
    return true;
  return std::ranges::any_of(expr.args, has_coarse_operations);
}

Expr read_as(Expr value, DType type) {
  if (value.kind == Expr::Kind::Cast && is_half(value.type) && value.args[0].type == type) {
    Expr before = std::move(value.args[0]);
    return has_coarse_operations(before) ? call(ScalarOp::Coarse, {std::move(before)}) : before;
  }
  return cast(std::move(value), type);
}

Contraction as_term(Contraction body) {
  if (body.comb == Comb::Term)
    return body;
  body.term = operand(0, DType::F32);
  if (body.comb == Comb::Mul)
    body.term = call(ScalarOp::Mul, {body.term, operand(1, DType::F32)});
  body.comb = Comb::Term;
  return body;
}

std::vector<Affine> broadcast_subscripts(const Shape &shape, const Shape &whole,
                                         const std::vector<Affine> &of) {
  std::vector<Affine> subscripts;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t w = d + of.size() - shape.size();
    const bool repeats = shape[d] != whole[w];
    subscripts.push_back(repeats ? Affine{std::vector<Rational>(of[w].coeff.size()), Rational(0)}
                                 : of[w]);
  }
  return subscripts;
}

int TermReads::add(const Access &access) {
  for (std::size_t k = 0; k < accesses.size(); ++k)
    if (accesses[k].tensor == access.tensor && accesses[k].subscripts == access.subscripts)
      return static_cast<int>(k);
  accesses.push_back(access);
  return static_cast<int>(accesses.size()) - 1;
}

} // namespace tilefuse::program
