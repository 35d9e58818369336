// SPDX-License-Identifier: Apache-2.0
#include "program/known_division.h"

#include "program/value_range.h"

namespace tilefuse::program {
namespace {

constexpr double kFinite = 1e30;

bool is_bound(const Expr &expr) {
  return expr.kind == Expr::Kind::Call && (expr.op == ScalarOp::Min || expr.op == ScalarOp::Max) &&
         expr.args[1].kind == Expr::Kind::Const;
}

} // namespace

std::optional<KnownDivision> known_division(const Expr &round) {
  if (round.kind != Expr::Kind::Call || round.op != ScalarOp::Round || round.type != DType::F32)
    return std::nullopt;
  const Expr *division = &round.args[0];
  while (is_bound(*division))
    division = &division->args[0];
  if (division->kind != Expr::Kind::Call || division->op != ScalarOp::Div ||
      division->type != DType::F32 || division->args[1].kind != Expr::Kind::Const)
    return std::nullopt;
  const bool is_finite = largest(value_range(division->args[0])) < kFinite;
  const std::optional<Reciprocal> by = reciprocal(static_cast<float>(division->args[1].value),
                                                  is_finite ? Dividends::Finite : Dividends::All);
  return by ? std::optional(KnownDivision{division, *by}) : std::nullopt;
}

} // namespace tilefuse::program
