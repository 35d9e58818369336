// SPDX-License-Identifier: Apache-2.0
// Expressions of maps and terms of contractions (Comb::Term), one into the other.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "program/program.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {

// Arithmetic on tensors of at most so many elements costs less than the launch of a kernel.
constexpr std::int64_t kSmallElems = 1 << 16;

// Whether it computes what may be coarse (target/coarse.h) and is not said to be.
bool has_coarse_operations(const Expr &expr);

// `value` as `type`; a value that was only stored in between is taken as it was before, computed as
// coarsely as where its rounding hid that.
Expr read_as(Expr value, DType type);

// The contraction of floats with its combination, None or Mul, as a term.
Contraction as_term(Contraction body);

// Subscripts of an operand of `shape` of a map whose result, of shape `whole`, is read at `of`
// (NumPy's rule).
std::vector<Affine> broadcast_subscripts(const Shape &shape, const Shape &whole,
                                         const std::vector<Affine> &of);

// What an expression reads: each tensor once at its subscripts, which are empty in a map.
struct TermReads {
  std::vector<Access> accesses;
  // The operand that the access is.
  int add(const Access &access);
};

// The expression with `leaf` of each operand in its place.
template <class Leaf> Expr substitute(const Expr &expr, const Leaf &leaf) {
  if (expr.kind == Expr::Kind::Operand)
    return leaf(expr);
  Expr copy = expr;
  for (Expr &arg : copy.args)
    arg = substitute(arg, leaf);
  return copy.kind == Expr::Kind::Cast ? read_as(std::move(copy.args[0]), copy.type) : copy;
}

} // namespace tilefuse::program
