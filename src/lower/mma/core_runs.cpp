// SPDX-License-Identifier: Apache-2.0
// The second walk of a CoreSide, over what its copies have brought.
#include <algorithm>
#include <cstddef>

#include "base/index.h"
#include "lower/mma/core_copies.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

void CoreSide::follow() {
  if (digits_)
    behind_.emplace(*digits_);
}

std::vector<CoreSide::Run> CoreSide::runs(const CoreWalk &behind, ExprRef slot,
                                          std::vector<StmtRef> &list) const {
  const Moves moves = moves_at(behind, slot, list);
  std::vector<Run> all;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(copies_.size()); ++i)
    all.push_back({b_.add(copies_[at(i)].to, moves.buffer), exists(i, moves, behind_)});
  return all;
}

StmtRef CoreSide::next_runs() const {
  std::vector<StmtRef> list;
  for (std::int64_t i = 0; has_digits() && i < static_cast<std::int64_t>(copies_.size()); ++i)
    list.push_back(behind_->advance(i));
  return b_.block(std::move(list));
}

ExprRef CoreSide::shared_element(const CoreWalk &behind, const nest::Linear &operand) const {
  std::vector<ExprRef> positions = behind.points();
  std::copy(cx_.origin.begin(), cx_.origin.begin() + static_cast<std::ptrdiff_t>(cx_.outputs()),
            positions.begin());
  ExprRef inside = run_;
  if (roles_.has_blocks()) {
    positions[at(roles_.depth())] = b_.integer(0);
    positions[at(roles_.depths.front())] =
        b_.add(behind.blocks(), b_.div(run_, b_.integer(block_)));
    inside = b_.mod(run_, b_.integer(block_));
  }
  if (is_turned())
    positions[at(roles_.contiguous(input_))] = first_;
  return b_.add(linear(cx_, operand, positions),
                b_.mul(inside, b_.integer(shared_stride(operand))));
}

ExprRef CoreSide::shared_exists(const CoreWalk &behind) const {
  if (is_turned())
    return run_exists_;
  if (roles_.depth_points % tile_.depth == 0)
    return nullptr;
  return b_.scalar(ScalarOp::Lt, {b_.add(behind.points()[at(roles_.depth())], run_),
                                  b_.integer(roles_.depth_points)});
}

} // namespace tilefuse::lower
