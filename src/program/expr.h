// SPDX-License-Identifier: Apache-2.0
// Pointwise expressions: values, compared and copied as values. Used by a program's maps and, after
// fusion, by a nest's post-ops. Text: max(acc + $0, 0) with operands $0, $1, … and the accumulator
// `acc`.
//
//   expr    := operators || && == != < <= > >= + - * / % with C's precedence over primary,
//   left-associative primary := '$'N | acc | number [':' TYPE] | NAME '(' expr {',' expr} ')' | '('
//   expr ')'
//
// NAME is a scalar operation ("select") or a type, which casts ("f16(acc)"). A number without a
// type takes that of its neighbours in the call, or f32 where it has none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/scanner.h"
#include "target/dtype.h"

namespace tilefuse::program {

// The type that values of two types meet in: float beats integer, else the wider, else `a`.
DType promote(DType a, DType b);

struct Expr {
  enum class Kind { Operand, Acc, Const, Call, Cast };
  Kind kind = Kind::Const;
  DType type = DType::F32;     // of the value
  double value = 0;            // Const
  int operand = -1;            // Operand: position in the owner's operand list
  ScalarOp op = ScalarOp::Add; // Call
  std::vector<Expr> args;      // Call: row(op).arity; Cast: 1

  friend bool operator==(const Expr &, const Expr &) = default;
};

Expr operand(int position, DType type);
Expr acc(DType type);
Expr constant(double value, DType type);
// Result type: Bool for comparisons; else the promoted type of the value arguments (float beats
// int, then the wider, then the first; a constant takes the type of its neighbours). Arguments are
// cast to it. Where all arguments are integers, exp, log, sqrt, tanh, erf, sin, cos and fractional
// constants make it f32, and rounding is its argument; RoundF16 and RoundBF16 are of f32. And, Or,
// Not and the condition of Select take Bool. Bit operations take integers, or Bool, where they are
// And, Or, Ne and Not; a shift's amount is taken modulo the width of the type. Throws Error{Type}
// for a wrong number of arguments and for bit operations on floats.
Expr call(ScalarOp op, std::vector<Expr> args);
// `value` as `type`: itself where it has that type, a constant of that type where that is exact,
// else a Cast. To f16 and bf16 it names what a tensor stores: a reader fused with the writer may
// see the value before it is stored.
Expr cast(Expr value, DType type);
// `value` as a cast that is written in a model or a Tile text gives it: whoever reads it sees a
// number of the type. Where a cast to f16 or bf16 may lose digits, the value is rounded before.
Expr converted(Expr value, DType type);
// Whether a cast to a floating-point type may change a number.
bool loses_digits(DType from, DType to);

std::string to_text(const Expr &expr);
// Reads an expression; operand $k has type operands[k], `acc` is allowed where its type is given.
// Throws Error{Syntax|Type}.
Expr parse_expr(Scanner &scanner, std::span<const DType> operands, std::optional<DType> acc);

} // namespace tilefuse::program
