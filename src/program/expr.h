// SPDX-License-Identifier: Apache-2.0
// Pointwise expressions: values, compared and copied as values. Used by a program's maps and, after fusion, by a
// nest's post-ops. Text: max(%a + 1, 0) with operands $0, $1, … and the accumulator `acc`.
#pragma once

#include <string>
#include <vector>

#include "target/dtype.h"

namespace tilefuse::program {

struct Expr {
  enum class Kind { Operand, Acc, Const, Call, Cast };
  Kind kind = Kind::Const;
  DType type = DType::F32;          // of the value
  double value = 0;                 // Const
  int operand = -1;                 // Operand: position in the owner's operand list
  ScalarOp op = ScalarOp::Add;      // Call
  std::vector<Expr> args;           // Call: row(op).arity; Cast: 1

  friend bool operator==(const Expr&, const Expr&) = default;
};

Expr operand(int position, DType type);
Expr acc(DType type);
Expr constant(double value, DType type);
// Result type: Bool for comparisons; else the promoted type of the value arguments (float beats int, then the wider,
// then the first; a constant takes the type of its neighbours). Arguments are cast to it.
Expr call(ScalarOp op, std::vector<Expr> args);
Expr cast(Expr value, DType type);

std::string to_text(const Expr& expr);

}  // namespace tilefuse::program
