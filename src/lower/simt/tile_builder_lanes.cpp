// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lower/post.h"
#include "lower/simt/tile_builder.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// Accumulators taken apart, then halves of what is left of each, the upper one into the lower.
StmtRef TileBuilder::fold_vectors() {
  const BufferId vectors = acc_;
  const std::int64_t count = b_.kernel()[vectors].elems;
  acc_apart_ = cx_.width();
  acc_ = register_buffer(b_, fmt::format("sum{}", b_.kernel().buffers.size()),
                         {value_type().elem, 1}, count * acc_apart_);
  Stmts body;
  for (std::int64_t copy = 0; copy < count; ++copy) {
    const ExprRef at = b_.integer(copy * acc_apart_);
    body.push_back(b_.store(acc_, at, b_.load(vectors, copy, cx_.width())));
    for (int half = cx_.width() / 2; half >= 1; half /= 2) {
      const ExprRef upper = b_.load(acc_, b_.add(at, half), half);
      body.push_back(
          b_.store(acc_, at, aggregate(b_, cx_.nest.agg, b_.load(acc_, at, half), upper)));
    }
  }
  return b_.block(std::move(body));
}

// Of a row's last vector the lanes that have points; the others take what leaves the result alone.
StmtRef TileBuilder::accumulate_valid(ExprRef value) {
  const kernel::BufferId lanes =
      b_.buffer({.name = fmt::format("last{}", b_.kernel().buffers.size()),
                 .space = kernel::Space::Register,
                 .type = {value_type().elem, 1},
                 .elems = cx_.width()});
  const double start = nest::initial_value(cx_.nest.agg, schedule::held_type(cx_.nest));
  Stmts body = {b_.store(lanes, b_.integer(0), value)};
  for (std::int64_t lane = partial_lanes_; lane < cx_.width(); ++lane)
    body.push_back(b_.store(lanes, b_.integer(lane), b_.real(start, {value_type().elem, 1})));
  const ExprRef position = acc_position();
  const ExprRef old = b_.load(acc_, position, cx_.width());
  const ExprRef last = b_.load(lanes, b_.integer(0), cx_.width());
  body.push_back(b_.store(acc_, position, aggregate(b_, cx_.nest.agg, old, last)));
  return b_.block(std::move(body));
}

// Of the current copy of this work-item in the buffer.
ExprRef TileBuilder::lane_place() const {
  const ExprRef copies = b_.mul(copy_number(all_copied()), cx_.block_size());
  return b_.mul(b_.add(copies, b_.lane()), cx_.result_width());
}

StmtRef TileBuilder::lane_round(const schedule::LaneRound &round) {
  const ExprRef digit = b_.mod(b_.div(b_.lane(), round.below), round.count);
  const ExprRef takes = b_.less(b_.add(digit, round.apart), round.live);
  const int width = cx_.result_width();
  const StmtRef take = for_copies(all_copied(), [&] {
    const ExprRef from = b_.add(lane_place(), round.apart * round.below * cx_.result_width());
    const ExprRef own = b_.load(acc_, acc_position(), width);
    const ExprRef both = aggregate(b_, cx_.nest.agg, own, b_.load(cx_.lane_buffer, from, width));
    return b_.block(
        {b_.store(acc_, acc_position(), both),
         b_.store(cx_.lane_buffer, lane_place(), b_.load(acc_, acc_position(), width))});
  });
  return b_.block({b_.branch(takes, take), b_.barrier()});
}

StmtRef TileBuilder::reduce_lanes() {
  Stmts body;
  if (has_reduced_vector(cx_.nest, cx_.schedule))
    body.push_back(fold_vectors());
  const std::vector<schedule::LaneRound> rounds = lane_rounds(cx_.nest, cx_.schedule);
  if (rounds.empty())
    return b_.block(std::move(body));
  body.push_back(for_copies(all_copied(), [&] {
    const ExprRef own = b_.load(acc_, acc_position(), cx_.result_width());
    return b_.store(cx_.lane_buffer, lane_place(), own);
  }));
  body.push_back(b_.barrier());
  for (const schedule::LaneRound &round : rounds)
    body.push_back(lane_round(round));
  return b_.block(std::move(body));
}

// Null: every work-item has results of its own.
ExprRef TileBuilder::is_first_lane() const {
  ExprRef all = nullptr;
  if (cx_.is_vector())
    return all;
  for (const IndexId i : reduced_indices(cx_.nest))
    if (cx_.schedule.splits[i].lane > 1)
      all = b_.logical_and(all, b_.equal(cx_.lane_at[i], 0));
  return all;
}

} // namespace tilefuse::lower
