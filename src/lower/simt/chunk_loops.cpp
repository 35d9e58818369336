// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/chunk_loops.h"

#include <algorithm>
#include <utility>

#include "lower/simt/stage.h"
#include "nest/index.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;
using Body = std::function<StmtRef()>;

class ChunkLoops {
public:
  ChunkLoops(Context &cx, const Body &compute)
      : cx_(cx), b_(cx.build), compute_(compute), chunks_(chunked_indices(cx.nest, cx.schedule)),
        counters_(chunks_.size()) {}

  StmtRef build();

private:
  // A statement, and whether a barrier stands before its first and after its last computation.
  struct Part {
    StmtRef body;
    bool synced_before;
    bool synced_after;
  };
  Part loops(std::size_t level);
  Part fill_once(StmtRef fills, Part inner);
  Part fill_ahead(Part inner);
  Part fill_ring(Part inner);

  IndexId index(std::size_t level) const { return chunks_[level]; }
  std::int64_t tile(std::size_t level) const { return cx_.schedule.splits[index(level)].tile; }
  std::int64_t trips(std::size_t level) const {
    return (extent(cx_.nest, index(level)) + tile(level) - 1) / tile(level);
  }
  std::int64_t all_trips() const;
  // Buffers of the inputs that are staged ahead.
  ExprRef turn_of(ExprRef number) const;
  // Counters of the chunk of that number.
  std::vector<ExprRef> counters_at(ExprRef number) const;
  StmtRef start_ring();
  // Sets cx.chunk from one counter per level.
  void go_to(const std::vector<ExprRef> &counters);
  ExprRef chunk_number() const;
  // Counters of the chunk after the current one; `has_next` is false in the last.
  std::vector<ExprRef> next_chunk(Stmts &lets, ExprRef &has_next);
  StmtRef let(const char *name, ExprRef value, ExprRef &variable);

  Context &cx_;
  kernel::Builder &b_;
  const Body &compute_;
  std::vector<IndexId> chunks_;
  std::vector<ExprRef> counters_; // by level
  StageOffsets offsets_;
  std::vector<Prefetch> ahead_; // of inputs staged twice
  int ring_ = 0;                // buffers of those that asynchronous copies fill
};

StmtRef ChunkLoops::let(const char *name, ExprRef value, ExprRef &variable) {
  const VarId var = b_.variable(name, value->type);
  variable = b_.var(var);
  return b_.let(var, value);
}

void ChunkLoops::go_to(const std::vector<ExprRef> &counters) {
  for (std::size_t level = 0; level < chunks_.size(); ++level)
    cx_.chunk[index(level)] = b_.mul(counters[level], tile(level));
}

ExprRef ChunkLoops::chunk_number() const {
  ExprRef number = b_.integer(0);
  for (std::size_t level = 0; level < chunks_.size(); ++level)
    number = b_.add(b_.mul(number, trips(level)), counters_[level]);
  return number;
}

std::int64_t ChunkLoops::all_trips() const {
  std::int64_t count = 1;
  for (std::size_t level = 0; level < chunks_.size(); ++level)
    count *= trips(level);
  return count;
}

ExprRef ChunkLoops::turn_of(ExprRef number) const {
  const int buffers = ring_ > 0 ? ring_ : 2;
  if ((buffers & (buffers - 1)) == 0)
    return b_.scalar(ScalarOp::BitAnd, {number, b_.integer(buffers - 1)});
  return b_.mod(number, buffers);
}

std::vector<ExprRef> ChunkLoops::counters_at(ExprRef number) const {
  std::vector<ExprRef> counters(chunks_.size());
  for (std::size_t level = chunks_.size(); level-- > 0;) {
    counters[level] = level == 0 ? number : b_.mod(number, trips(level));
    number = b_.div(number, trips(level));
  }
  return counters;
}

std::vector<ExprRef> ChunkLoops::next_chunk(Stmts &lets, ExprRef &has_next) {
  std::vector<ExprRef> next = counters_;
  ExprRef carried = nullptr; // into this level; null: always
  has_next = nullptr;
  for (std::size_t level = chunks_.size(); level-- > 0;) {
    const ExprRef after = b_.add(counters_[level], 1);
    const ExprRef is_last = b_.scalar(ScalarOp::Ge, {after, b_.integer(trips(level))});
    ExprRef moved = b_.select(is_last, 0, after);
    if (carried)
      moved = b_.select(carried, moved, counters_[level]);
    lets.push_back(let("next", moved, next[level]));
    carried = b_.logical_and(carried, is_last);
  }
  has_next = b_.scalar(ScalarOp::Not, {carried});
  return next;
}

ChunkLoops::Part ChunkLoops::fill_once(StmtRef fills, Part inner) {
  const bool shared = cx_.block_size() > 1;
  Stmts body = {fills};
  if (shared && !inner.synced_before)
    body.push_back(b_.barrier());
  body.push_back(inner.body);
  if (shared && !inner.synced_after)
    body.push_back(b_.barrier());
  return {b_.block(std::move(body)), true, true};
}

ChunkLoops::Part ChunkLoops::fill_ahead(Part inner) {
  Stmts body;
  if (cx_.block_size() > 1)
    body.push_back(b_.barrier());
  Stmts fetches;
  Stmts puts;
  ExprRef has_next = nullptr;
  const ExprRef turn = cx_.turn;
  go_to(next_chunk(body, has_next));
  cx_.turn = b_.sub(1, turn);
  for (const Prefetch &ahead : ahead_) {
    fetches.push_back(ahead.fetch(cx_));
    puts.push_back(ahead.put(cx_));
  }
  go_to(counters_);
  cx_.turn = turn;
  body.push_back(b_.branch(has_next, b_.block(std::move(fetches))));
  body.push_back(inner.body);
  body.push_back(b_.branch(has_next, b_.block(std::move(puts))));
  return {b_.block(std::move(body)), true, false};
}

// Every chunk commits a group, also where none is left to copy, so that waiting can count them.
ChunkLoops::Part ChunkLoops::fill_ring(Part inner) {
  Stmts body = {b_.async_wait(ring_ - 2)};
  if (cx_.block_size() > 1)
    body.push_back(b_.barrier());
  ExprRef number = nullptr;
  body.push_back(let("ahead", b_.add(chunk_number(), ring_ - 1), number));
  const ExprRef turn = cx_.turn;
  go_to(counters_at(number));
  cx_.turn = turn_of(number);
  const ExprRef exists = b_.less(number, all_trips());
  body.push_back(b_.branch(exists, start_copies(cx_, offsets_)));
  go_to(counters_);
  cx_.turn = turn;
  body.push_back(b_.async_commit());
  body.push_back(inner.body);
  return {b_.block(std::move(body)), true, false};
}

StmtRef ChunkLoops::start_ring() {
  Stmts body;
  for (std::int64_t chunk = 0; chunk + 1 < ring_; ++chunk) {
    go_to(counters_at(b_.integer(chunk)));
    cx_.turn = b_.integer(chunk);
    if (chunk < all_trips())
      body.push_back(start_copies(cx_, offsets_));
    body.push_back(b_.async_commit());
  }
  return b_.block(std::move(body));
}

ChunkLoops::Part ChunkLoops::loops(std::size_t level) {
  if (level == chunks_.size())
    return {compute_(), false, false};
  const VarId var = b_.variable("chunk_" + cx_.nest.indices[index(level)].name, {});
  counters_[level] = b_.var(var);
  go_to(counters_);
  const bool innermost = level + 1 == chunks_.size();
  Stmts lets;
  if (innermost && (!ahead_.empty() || ring_ > 0))
    lets.push_back(let("turn", turn_of(chunk_number()), cx_.turn));
  Part part = loops(level + 1);
  if (innermost && !ahead_.empty())
    part = fill_ahead(part);
  if (innermost && ring_ > 0)
    part = fill_ring(part);
  if (const StmtRef fills = fill_stages(cx_, chunks_[level], offsets_))
    part = fill_once(fills, part);
  lets.push_back(part.body);
  part.body = b_.loop(var, ForKind::Serial, 0, trips(level), 1, b_.block(std::move(lets)));
  return part;
}

StmtRef ChunkLoops::build() {
  Stmts body;
  for (std::size_t level = 0; level < chunks_.size(); ++level)
    counters_[level] = b_.integer(0);
  go_to(counters_);
  cx_.turn = b_.integer(0);
  body.push_back(declare_offsets(cx_, true, offsets_));
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k) {
    if (cx_.schedule.pipes[k].is_double_buffered())
      ahead_.emplace_back(cx_, static_cast<int>(k), offsets_[k]);
    if (cx_.schedule.pipes[k].is_async())
      ring_ = std::max(ring_, cx_.schedule.pipes[k].stages);
  }
  if (ring_ > 0)
    body.push_back(start_ring());
  for (const Prefetch &ahead : ahead_)
    body.push_back(ahead.fetch(cx_));
  for (const Prefetch &ahead : ahead_)
    body.push_back(ahead.put(cx_));
  body.push_back(loops(0).body);
  return b_.block(std::move(body));
}

} // namespace

StmtRef chunk_loops(Context &cx, const Body &compute) { return ChunkLoops(cx, compute).build(); }

} // namespace tilefuse::lower
