// SPDX-License-Identifier: Apache-2.0
#include "program/precision/casts.h"

namespace tilefuse::program {
namespace {

// What a cast converts; rounding to the type that it stores is part of storing.
const Expr &before_rounding(const Expr &cast) {
  const Expr &from = cast.args[0];
  const bool rounds = from.kind == Expr::Kind::Call && rounded_type(from.op) == cast.type;
  return rounds ? from.args[0] : from;
}

} // namespace

void note_cast(const Program &program, const Statement &statement, Casts &casts) {
  const auto *map = std::get_if<Map>(&statement.body);
  if (map == nullptr || map->expr.kind != Expr::Kind::Cast)
    return;
  const Expr &from = before_rounding(map->expr);
  if (from.kind == Expr::Kind::Operand && is_float(from.type) && is_float(map->expr.type) &&
      program[map->operands[0]].shape == program[statement.out].shape)
    casts[statement.out] = map->operands[0];
}

TensorId before_cast(const Casts &casts, TensorId tensor) {
  const auto found = casts.find(tensor);
  return found == casts.end() ? tensor : found->second;
}

} // namespace tilefuse::program
