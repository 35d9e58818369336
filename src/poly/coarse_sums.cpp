// SPDX-License-Identifier: Apache-2.0
#include "poly/coarse_sums.h"

#include <algorithm>

#include "base/index.h"
#include "poly/row_group.h"
#include "program/rewrite/terms.h"
#include "target/coarse.h"
#include "target/dtype_traits.h"

namespace tilefuse::poly {
namespace {

using program::Expr;

// Whether an expression reads an operand only where all coarse operations are allowed.
bool hides(const Expr &expr, int operand, Coarse allowed) {
  if (is_half(expr.type))
    allowed = Coarse::All;
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand != operand || allowed == Coarse::All;
  return std::ranges::all_of(expr.args, [&](const Expr &arg) {
    return hides(arg, operand,
                 expr.kind == Expr::Kind::Cast ? allowed_below_cast(arg.type, expr.type, allowed)
                                               : allowed_below(expr.op, allowed));
  });
}

// The same of an operand of a member by its number: inputs are read by its term, extras by its post-ops.
bool hides(const nest::Nest &nest, int number) {
  const int inputs = static_cast<int>(nest.inputs.size());
  if (number >= inputs)
    return hides(nest.post, number - inputs, Coarse::None);
  return nest.comb == program::Comb::Term && hides(nest.term, number, Coarse::None);
}

bool is_hidden(const Group &group, SlotId slot) {
  for (const MemberId member : members(group)) {
    const nest::Nest &nest = member_nest(group, member);
    for (int k = 0; k < operands(nest); ++k)
      if (group_slot(group, member, operand_of(nest, k).slot) == slot && !hides(nest, k))
        return false;
  }
  return true;
}

} // namespace

void allow_coarse_sums(Group &group) {
  for (std::size_t p = 0; p < group.producers.size(); ++p) {
    const MemberId member = member_of_producer(p);
    nest::Nest &nest = group.producers[p].nest;
    if (is_statistic(group, member) && nest.agg == program::Agg::Sum &&
        nest.comb == program::Comb::Term && program::has_coarse_operations(nest.term) &&
        is_hidden(group, group_slot(group, member, nest.out.slot)))
      nest.term = program::call(ScalarOp::Coarse, {nest.term});
  }
}

} // namespace tilefuse::poly
