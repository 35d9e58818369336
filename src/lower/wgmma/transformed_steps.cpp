// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/transformed_steps.h"

#include "lower/expressions.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

TransformedSteps::TransformedSteps(Context &context, const WgmmaRing &ring)
    : GemmPart(context), ring_(ring), groups_(cx_.schedule.roles.transform.groups),
      turn_(register_buffer(b_, "transform_turn", {DType::I32, 1}, 1)) {}

StmtRef TransformedSteps::start(ExprRef item) const {
  const StmtRef turn =
      groups_ > 1 ? b_.store(turn_, 0, b_.div(item, schedule::kGroupItems)) : nullptr;
  return b_.block({turn, ring_.start(0)});
}

StmtRef TransformedSteps::in_turn(StmtRef step) const {
  if (groups_ < 2)
    return b_.block({step, ring_.advance()});
  const ExprRef turn = b_.load(turn_, 0);
  const ExprRef is_own = b_.equal(turn, 0);
  const ExprRef next = b_.select(is_own, groups_ - 1, b_.sub(turn, 1));
  return b_.block({b_.branch(is_own, step), b_.store(turn_, 0, next), ring_.advance()});
}

} // namespace tilefuse::lower
