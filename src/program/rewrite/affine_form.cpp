// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/affine_form.h"

#include <algorithm>
#include <vector>

namespace tilefuse::program {
namespace {

Expr one() { return constant(1, DType::F32); }

bool is_one(const Expr &expr) { return expr == one(); }

Expr times(const Expr &a, const Expr &b) {
  return is_one(a) ? b : is_one(b) ? a : call(ScalarOp::Mul, {a, b});
}

Factor plus(const Factor &a, const Factor &b) {
  return !a ? b : !b ? a : Factor(call(ScalarOp::Add, {*a, *b}));
}

Factor negated(const Factor &a) { return a ? Factor(call(ScalarOp::Neg, {*a})) : a; }

template <class Change> AffineForm each(const AffineForm &form, const Change &change) {
  return {{change(form.factors[0]), change(form.factors[1])}, change(form.rest)};
}

AffineForm sum(const AffineForm &a, const AffineForm &b) {
  return {{plus(a.factors[0], b.factors[0]), plus(a.factors[1], b.factors[1])},
          plus(a.rest, b.rest)};
}

std::optional<AffineForm> affine_call(const Expr &expr, const std::array<int, 2> &of) {
  std::vector<AffineForm> args;
  for (const Expr &arg : expr.args) {
    const std::optional<AffineForm> form = affine_form(arg, of);
    if (!form)
      return std::nullopt;
    args.push_back(*form);
  }
  const auto is_constant = [](const AffineForm &form) { return form.is_constant(); };
  if (std::all_of(args.begin(), args.end(), is_constant))
    return AffineForm{{}, expr};
  const auto scaled = [&](const AffineForm &form, const AffineForm &by) {
    return each(form, [&](const Factor &factor) {
      return factor && by.rest ? Factor(times(*factor, *by.rest)) : Factor();
    });
  };
  switch (expr.op) {
  case ScalarOp::Neg:
    return each(args[0], negated);
  case ScalarOp::Add:
    return sum(args[0], args[1]);
  case ScalarOp::Sub:
    return sum(args[0], each(args[1], negated));
  case ScalarOp::Mul:
    if (args[0].is_constant())
      return scaled(args[1], args[0]);
    return args[1].is_constant() ? std::optional(scaled(args[0], args[1])) : std::nullopt;
  case ScalarOp::Div:
    if (!args[1].is_constant())
      return std::nullopt;
    return each(args[0], [&](const Factor &factor) {
      return factor ? Factor(call(ScalarOp::Div, {*factor, expr.args[1]})) : factor;
    });
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<AffineForm> affine_form(const Expr &expr, const std::array<int, 2> &of) {
  const Expr &value = expr.kind == Expr::Kind::Cast && expr.type == DType::F32 &&
                              expr.args[0].kind == Expr::Kind::Operand
                          ? expr.args[0]
                          : expr;
  if (value.kind == Expr::Kind::Operand)
    for (std::size_t k = 0; k < of.size(); ++k)
      if (value.operand == of[k]) {
        AffineForm form;
        form.factors[k] = one();
        return form;
      }
  if (expr.kind == Expr::Kind::Call)
    return affine_call(expr, of);
  if (expr.kind == Expr::Kind::Cast &&
      !affine_form(expr.args[0], of).value_or(AffineForm{{one()}, {}}).is_constant())
    return std::nullopt;
  return AffineForm{{}, expr};
}

} // namespace tilefuse::program
