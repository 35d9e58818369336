// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/address.h"
#include "lower/simt/guards.h"
#include "lower/simt/tile_builder.h"
#include "nest/index.h"
#include "schedule/streams.h"

namespace tilefuse::lower {

using kernel::ForKind;
using kernel::VarId;

StmtRef TileBuilder::chunk() {
  Stmts body;
  const std::vector<ExprRef> outer = bases_;
  for (std::size_t k = 0; k < bases_.size(); ++k) {
    const ExprRef base = chunk_base(cx_, static_cast<int>(k), bases_[k]);
    if (base == bases_[k])
      continue;
    const VarId var = b_.variable("at", {});
    body.push_back(b_.let(var, base));
    bases_[k] = b_.var(var);
  }
  body.push_back(reduced_loops(0));
  bases_ = outer;
  return b_.block(std::move(body));
}

StmtRef TileBuilder::reduced_loops(std::size_t level) {
  while (level < cx_.schedule.order.size() && is_output(cx_.nest, cx_.schedule.order[level]))
    ++level;
  if (level == cx_.schedule.order.size())
    return accumulate();
  const IndexId index = cx_.schedule.order[level];
  return reduced_loop(index, [&, level] { return reduced_loops(level + 1); });
}

StmtRef TileBuilder::reduced_loop(IndexId index, const LoopBody &body) {
  const std::int64_t extent = cx_.schedule.splits[index].tile;
  const std::int64_t apart = std::max(cx_.schedule.splits[index].copy_stride(),
                                      schedule::points_of_rows(cx_.nest, cx_.schedule, index));
  const std::int64_t unroll = cx_.schedule.splits[index].step();
  const std::string &name = cx_.nest.indices[index].name;
  if (schedule::stream_registers(cx_.schedule) > 0 &&
      schedule::stream_index(cx_.nest, cx_.schedule) == index)
    return streamed_loop(index, body);
  const auto unrolled = [&](ExprRef start, std::int64_t count) {
    const VarId var = b_.variable("u_" + name, {});
    cx_.value[index] = b_.add(b_.add(start, b_.var(var)), cx_.lane_at[index]);
    return b_.loop(var, ForKind::Unroll, 0, count, apart, body());
  };
  if (cx_.schedule.splits[index].clip) {
    const TapRange taps = clipped_taps(cx_, index);
    const VarId var = b_.variable(name, {});
    cx_.value[index] = b_.var(var);
    return b_.loop(var, ForKind::Serial, taps.begin, taps.end, 1, body());
  }
  Stmts parts;
  const std::int64_t whole = extent / unroll * unroll;
  if (whole > unroll) {
    const VarId var = b_.variable(name, {});
    const StmtRef inner = unrolled(b_.var(var), unroll);
    parts.push_back(b_.loop(var, ForKind::Serial, 0, whole, unroll, inner));
  } else {
    parts.push_back(unrolled(b_.integer(0), whole));
  }
  const std::int64_t full = extent / apart * apart; // points of copies that all lanes have
  if (whole < full)
    parts.push_back(unrolled(b_.integer(whole), full - whole));
  if (full < extent) {
    cx_.value[index] = b_.add(full, cx_.lane_at[index]);
    partial_lanes_ = cx_.is_vector() ? extent - full : 0;
    const ExprRef exists = b_.less(cx_.value[index], extent);
    parts.push_back(cx_.is_vector() ? body() : b_.branch(exists, body()));
    partial_lanes_ = 0;
  }
  return b_.block(std::move(parts));
}

StmtRef TileBuilder::streamed_loop(IndexId index, const LoopBody &body) {
  const schedule::Split &split = cx_.schedule.splits[index];
  const std::string &name = cx_.nest.indices[index].name;
  const std::int64_t registers = schedule::stream_registers(cx_.schedule);
  Stmts parts;
  for (std::int64_t early = 0; early + 1 < registers; ++early) {
    slot_ = b_.integer(early);
    parts.push_back(fetch(index, b_.integer(early * split.keep)));
  }
  const VarId start = b_.variable(name, {});
  Stmts bodies;
  for (std::int64_t turn = 0; turn < registers; ++turn) {
    const std::int64_t later = turn + registers - 1;
    const ExprRef first = b_.add(b_.var(start), later * split.keep);
    slot_ = b_.integer(later % registers);
    const StmtRef read = fetch(index, first);
    bodies.push_back(later < registers ? read : b_.branch(b_.less(first, split.tile), read));
    const VarId point = b_.variable("u_" + name, {});
    slot_ = b_.integer(turn);
    body_point_ = b_.var(point);
    cx_.value[index] = b_.add(b_.add(b_.var(start), turn * split.keep), body_point_);
    bodies.push_back(b_.loop(point, ForKind::Unroll, 0, split.keep, 1, body()));
  }
  parts.push_back(b_.loop(start, ForKind::Serial, 0, split.tile, registers * split.keep,
                          b_.block(std::move(bodies))));
  return b_.block(std::move(parts));
}

StmtRef TileBuilder::fetch(IndexId index, ExprRef first) {
  const auto level = std::find(cx_.schedule.order.begin(), cx_.schedule.order.end(), index) -
                     cx_.schedule.order.begin();
  Stmts all;
  for (std::size_t k = 0; k < streams_.size(); ++k) {
    if (cx_.schedule.pipes[k].stream == 0)
      continue;
    const VarId point = b_.variable("u_" + cx_.nest.indices[index].name, {});
    body_point_ = b_.var(point);
    cx_.value[index] = b_.add(first, body_point_);
    const StmtRef inner = fetch_input(k, static_cast<std::size_t>(level) + 1);
    all.push_back(b_.loop(point, ForKind::Unroll, 0, points_of_body(index), 1, inner));
  }
  return b_.block(std::move(all));
}

StmtRef TileBuilder::fetch_input(std::size_t input, std::size_t level) {
  if (level == cx_.schedule.order.size())
    return for_copies(copied_by(static_cast<int>(input)), [&] {
      return b_.store(streams_[input], stream_position(input), load_input(static_cast<int>(input)));
    });
  const IndexId index = cx_.schedule.order[level];
  const VarId point = b_.variable("u_" + cx_.nest.indices[index].name, {});
  cx_.value[index] = b_.var(point);
  const StmtRef inner = fetch_input(input, level + 1);
  return b_.loop(point, ForKind::Unroll, 0, points_of_body(index), 1, inner);
}

// The loops of a body, outermost first.
std::vector<IndexId> TileBuilder::body_indices() const {
  const std::optional<IndexId> along = schedule::stream_index(cx_.nest, cx_.schedule);
  const auto &order = cx_.schedule.order;
  return {std::find(order.begin(), order.end(), along), order.end()};
}

std::int64_t TileBuilder::points_of_body(IndexId index) const {
  const schedule::Split &split = cx_.schedule.splits[index];
  return schedule::stream_index(cx_.nest, cx_.schedule) == index ? split.keep : split.tile;
}

std::int64_t TileBuilder::values_of_body(std::size_t input) const {
  std::int64_t count = 1;
  for (const IndexId i : body_indices())
    count *= points_of_body(i);
  for (const IndexId i : copied_by(static_cast<int>(input)))
    count *= copies_[i];
  return count;
}

// Of the current value of a streamed input: body, points and copies, the last fastest.
ExprRef TileBuilder::stream_position(std::size_t input) const {
  const std::vector<IndexId> body = body_indices();
  ExprRef at = slot_;
  for (const IndexId i : body)
    at = b_.add(b_.mul(at, points_of_body(i)), i == body.front() ? body_point_ : cx_.value[i]);
  const std::vector<IndexId> copied = copied_by(static_cast<int>(input));
  std::int64_t copies = 1;
  for (const IndexId i : copied)
    copies *= copies_[i];
  return b_.add(b_.mul(at, copies), copy_number(copied));
}

ExprRef TileBuilder::value_of(int input) const {
  const auto k = static_cast<std::size_t>(input);
  if (cx_.schedule.pipes[k].stream == 0)
    return load_input(input);
  return b_.load(streams_[k], stream_position(k), cx_.width());
}

} // namespace tilefuse::lower
