// SPDX-License-Identifier: Apache-2.0
#include "program/known_division.h"

#include "program/value_range.h"

namespace tilefuse::program {
namespace {

constexpr double kFinite = 1e30;

} // namespace

std::optional<Reciprocal> known_division(const Expr &round) {
  if (round.kind != Expr::Kind::Call || round.op != ScalarOp::Round || round.type != DType::F32)
    return std::nullopt;
  const Expr &division = round.args[0];
  if (division.kind != Expr::Kind::Call || division.op != ScalarOp::Div ||
      division.args[1].kind != Expr::Kind::Const)
    return std::nullopt;
  const bool is_finite = largest(value_range(division.args[0])) < kFinite;
  return reciprocal(static_cast<float>(division.args[1].value),
                    is_finite ? Dividends::Finite : Dividends::All);
}

} // namespace tilefuse::program
