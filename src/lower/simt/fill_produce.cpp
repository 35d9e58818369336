// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/fill_produce.h"

#include <algorithm>

#include "base/index.h"
#include "lower/members.h"
#include "lower/mma/build_core.h"
#include "lower/simt/build_loops.h"
#include "lower/simt/stage_rows.h"
#include "lower/simt/stage_source.h"
#include "nest/index.h"
#include "schedule/blocks.h"
#include "schedule/mma/core.h"
#include "schedule/rolling.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;
using schedule::StageDim;

class ProducerFill {
public:
  ProducerFill(const Context &consumer, int input, const Context &producer)
      : s_(consumer, input), input_(input), b_(consumer.build), cx_(producer) {
    const int rolled = schedule::rolled_dim(consumer.nest, consumer.schedule, input);
    for (std::size_t d = 0; d < s_.rank(); ++d)
      if (s_.tile.dims[d].dim == rolled)
        rolled_ = d;
  }

  StmtRef build() {
    place_window();
    if (rolled_)
      roll(*rolled_);
    StmtRef loops = has_core(cx_.schedule) ? core_blocks() : block_loops(0);
    body_.push_back(loops);
    body_.push_back(pads());
    return b_.block(std::move(body_));
  }

private:
  ExprRef let(const char *name, ExprRef value);
  ExprRef window(std::size_t d) const;
  void place_window();
  void roll(std::size_t d);
  StmtRef block_loops(std::size_t level);
  StmtRef core_blocks();
  StmtRef pads();
  StmtRef pads_by_items();

  StageSource s_;
  int input_;
  kernel::Builder &b_;
  Context cx_; // of the producer
  Stmts body_;
  std::optional<std::size_t> rolled_; // dimension of the tile that rolls
};

ExprRef ProducerFill::let(const char *name, ExprRef value) {
  if (kernel::is_constant(value))
    return value;
  const VarId var = b_.variable(name, {});
  body_.push_back(b_.let(var, value));
  return b_.var(var);
}

// The first subscript that is computed: the tile's, moved inside the tensor.
ExprRef ProducerFill::window(std::size_t d) const {
  const StageDim &dim = s_.tile.dims[d];
  const std::int64_t last = s_.dim(d).size - dim.made;
  if (rolled_ == d)
    return s_.origins[d];
  if (last == 0)
    return b_.integer(0);
  if (!dim.checked)
    return s_.origins[d];
  return b_.min(b_.max(s_.origins[d], 0), last);
}

void ProducerFill::place_window() {
  const nest::Operand &read = s_.cx.nest.inputs[at(input_)];
  const auto indices = poly::match_dims(read, cx_.whole).value();
  cx_.result = s_.to;
  cx_.result_form = still(cx_.nest);
  ExprRef base = b_.integer(0);
  for (std::size_t d = 0; d < s_.rank(); ++d) {
    const StageDim &dim = s_.tile.dims[d];
    const ExprRef first = let("window", window(d));
    const ExprRef moved = b_.add(b_.sub(first, s_.origins[d]), dim.before);
    base = b_.add(base, b_.mul(moved, dim.stride));
    const std::optional<IndexId> index = indices[at(dim.dim)];
    if (!index)
      continue;
    cx_.start[*index] = first;
    cx_.result_form.coeff[*index] = dim.stride;
  }
  cx_.result_base = let("made_at", base);
}

// Moves the rows that stay, and limits the producer to the others.
void ProducerFill::roll(std::size_t d) {
  const StageDim &dim = s_.tile.dims[d];
  const schedule::Rolling rolling =
      schedule::rolling(s_.cx.members.group, s_.cx.members.schedule, cx_.member);
  const std::int64_t kept = rolling.kept(cx_.nest);
  cx_.is_first = s_.cx.is_first;
  ExprRef begin = b_.integer(0);
  if (kept > 0) {
    body_.push_back(b_.branch(b_.scalar(ScalarOp::Not, {cx_.is_first}),
                              move_rows(s_.cx, input_, d, rolling.advance, kept)));
    begin = b_.select(cx_.is_first, begin, kept);
  }
  const ExprRef box = b_.integer(dim.box);
  const ExprRef first = s_.origins[d];
  begin = let("rows", b_.max(begin, b_.sub(0, first)));
  cx_.rows_begin = begin;
  cx_.rows_end = let("rows_end", b_.max(begin, b_.min(box, b_.sub(s_.dim(d).size, first))));
}

// The blocks of the producer's own schedule, one after the other.
StmtRef ProducerFill::block_loops(std::size_t level) {
  const std::vector<IndexId> &order = cx_.schedule.order;
  const auto count = [&](IndexId i) {
    const std::int64_t tile = cx_.schedule.splits[i].tile;
    return (extent(cx_.nest, i) + tile - 1) / tile;
  };
  while (level < order.size() && (!is_output(cx_.nest, order[level]) || count(order[level]) == 1))
    ++level;
  if (level == order.size()) {
    const StmtRef tile = tile_loops(cx_);
    const bool refills = std::any_of(cx_.schedule.fills.begin(), cx_.schedule.fills.end(),
                                     [](schedule::Fill fill) { return is_staged(fill); });
    return refills && cx_.block_size() > 1 ? b_.block({tile, b_.barrier()}) : tile;
  }
  const IndexId index = order[level];
  const VarId var = b_.variable("p_" + cx_.nest.indices[index].name, {});
  const std::int64_t tile = cx_.schedule.splits[index].tile;
  cx_.origin[index] = b_.var(var);
  const StmtRef inner = block_loops(level + 1);
  return b_.loop(var, ForKind::Serial, 0, count(index) * tile, tile, inner);
}

// The same for products of a core instruction, whose ring is filled anew by each.
StmtRef ProducerFill::core_blocks() {
  const std::int64_t count = schedule::core_blocks(cx_.gemm());
  if (count == 1)
    return core_product(cx_, b_.integer(0));
  const VarId var = b_.variable("product", {});
  return b_.loop(var, ForKind::Serial, 0, count, 1,
                 b_.block({core_product(cx_, b_.var(var)), b_.barrier()}));
}

StmtRef ProducerFill::pads() {
  const std::vector<StageDim> &dims = s_.tile.dims;
  const auto is_checked = [](const StageDim &dim) { return dim.checked; };
  if (std::none_of(dims.begin(), dims.end(), is_checked))
    return b_.block({});
  return s_.cx.is_vector() ? fill_by_rows(s_.cx, input_, true) : pads_by_items();
}

// Every block_size-th element of the tile is looked at by each work-item.
StmtRef ProducerFill::pads_by_items() {
  const std::int64_t size = s_.cx.block_size();
  std::int64_t elems = 1;
  for (const StageDim &dim : s_.tile.dims)
    elems *= dim.box;
  const VarId round = b_.variable("round", {});
  const VarId e = b_.variable("e", {});
  const ExprRef mine = size > 1 ? b_.add(b_.var(round), b_.lane()) : b_.var(round);
  ExprRef inside =
      elems % size == 0 ? nullptr : b_.scalar(ScalarOp::Ge, {b_.var(e), b_.integer(elems)});
  ExprRef outside = nullptr;
  ExprRef to = b_.integer(0);
  std::int64_t below = 1;
  for (std::size_t d = s_.rank(); d-- > 0;) {
    const StageDim &dim = s_.tile.dims[d];
    const ExprRef digit = b_.mod(b_.div(b_.var(e), below), dim.box);
    to = b_.add(to, b_.mul(b_.add(digit, dim.before), dim.stride));
    below *= dim.box;
    if (dim.checked)
      outside = b_.logical_and(outside, s_.inside(d, b_.add(s_.origins[d], digit)));
  }
  inside = inside ? b_.scalar(ScalarOp::Or, {inside, outside}) : outside;
  const StmtRef store = b_.store(s_.to, to, b_.real(s_.fill, {s_.type, 1}));
  const StmtRef body =
      b_.block({b_.let(e, mine), b_.branch(b_.scalar(ScalarOp::Not, {inside}), store)});
  return b_.loop(round, ForKind::Serial, 0, elems, size, body);
}

} // namespace

StmtRef fill_by_producer(const Context &consumer, int input) {
  const std::optional<poly::MemberId> feeder =
      producer_of(consumer.members.group, consumer.member, input);
  const Context &producer = consumer.members.contexts[feeder.value()];
  return ProducerFill(consumer, input, producer).build();
}

} // namespace tilefuse::lower
