// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_loads.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_map.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::lower {

namespace {

class WgmmaGather : GemmPart {
public:
  WgmmaGather(Context &context, const WgmmaParts &parts, FillFilter filter)
      : GemmPart(context), tiles_(parts.tiles), ring_(parts.data_ring),
        count_(step_stages(cx_.schedule)), ahead_(cx_.schedule.roles.load.lead),
        filter_(std::move(filter)), extra_(parts.ahead),
        data_(cx_, roles_.data, ring_.copied(roles_.data), schedule::kGroupItems) {
    under_way_ = register_buffer(b_, "under_way", {DType::I32, 1}, extra_ == nullptr ? 2 : 3);
  }

  StmtRef build() {
    Stmts all = {ring_.start(1), set(kCount, integer(0)), set(kOldest, integer(0)),
                 extra_ == nullptr ? nullptr : by_item(b_, 0, extra_->start(integer(0)))};
    all.push_back(tiles_.each(nullptr, [&](ExprRef tile, Stmts &list) {
      tiles_.take_apart(tile, list);
      list.push_back(data_.declare(tiles_.first_row()));
      if (extra_ != nullptr)
        list.push_back(set(kOfTile, integer(0)));
      Positions points = tiles_.first_points();
      list.push_back(tiles_.each_step(points, [&] { return step(points); }));
    }));
    for (int pending = ahead_ - 1; pending >= 0; --pending)
      all.push_back(b_.branch(b_.less(pending, state(kCount)), give(pending)));
    return b_.block(std::move(all));
  }

private:
  static constexpr std::int64_t kCount = 0;  // of steps
  static constexpr std::int64_t kOldest = 1; // the buffer of the first of them
  static constexpr std::int64_t kOfTile = 2; // steps of this tile that are started
  ExprRef state(std::int64_t which) const { return b_.load(under_way_, which); }
  StmtRef set(std::int64_t which, ExprRef value) const {
    return b_.store(under_way_, which, value);
  }

  WgmmaTiles &tiles_;
  const WgmmaRing &ring_;
  const int count_; // buffers
  const int ahead_;
  const FillFilter filter_;
  const WgmmaAhead *extra_; // what post-ops read, brought among the loads; or null
  CoreInput data_;          // of pixels by their number, or what its map reads
  BufferId under_way_{-1};

  // What post-ops of the tile read, behind so many of its steps that all of the tile before may be
  // multiplied: its buffer is given up when they are.
  StmtRef copy_extra() const {
    if (extra_ == nullptr)
      return nullptr;
    const ExprRef is_time = b_.equal(state(kOfTile), ahead_);
    return b_.block({b_.branch(is_time, by_item(b_, 0, extra_->copy_tile(tiles_))),
                     set(kOfTile, b_.add(state(kOfTile), 1))});
  }

  // The oldest step under way may be multiplied, once so many are left.
  StmtRef give(int pending) const {
    const kernel::VarId next = b_.variable("next", {});
    const ExprRef is_end = b_.equal(b_.var(next), count_);
    return b_.block({b_.async_wait(pending), ring_.say_full(state(kOldest)),
                     b_.let(next, b_.add(state(kOldest), 1)),
                     set(kOldest, b_.select(is_end, 0, b_.var(next)))});
  }

  // The step that so many are started behind.
  StmtRef give_later() const {
    if (ahead_ == 0)
      return give(0);
    const ExprRef is_short = b_.less(state(kCount), ahead_);
    return b_.branch(is_short, set(kCount, b_.add(state(kCount), 1)), give(ahead_));
  }

  StmtRef step(const Positions &points) const {
    return b_.block({ring_.wait_empty(), filter_(points), data_.start(points, ring_.slot()),
                     b_.async_commit(), give_later(), copy_extra(), ring_.advance()});
  }
};

} // namespace

StmtRef gather_data(Context &context, const WgmmaParts &parts, FillFilter filter) {
  return WgmmaGather(context, parts, std::move(filter)).build();
}

namespace {

constexpr std::int64_t kNowhere = -1;
constexpr std::int64_t kApart = 2; // rows from where a unit starts to where the next does

// The units of a work-item, which has every so many-th of a window's: it reads their elements into
// registers, and writes each unit to every row that holds it.
class SpreadWindow : GemmPart {
public:
  SpreadWindow(Context &context, const WgmmaParts &parts, poly::MemberId producer)
      : GemmPart(context), ring_(parts.data_ring), from_(cx_.members.contexts[producer]),
        copy_(from_.whole), plan_(spread_plan(cx_.members.group, cx_.gemm(), producer)),
        map_(data_map(cx_.gemm())), data_(cx_.nest.inputs[at(roles_.data)]),
        dims_(poly::match_runs(data_, copy_).value()) {
    values_ =
        register_buffer(b_, "unit", {compute_type(copy_.acc_type), 1}, plan_.rounds() * plan_.unit);
  }

  // Names where its units lie in a window, and in the lines of the copy.
  void declare(Stmts &list) {
    for (std::int64_t round = 0; round < plan_.rounds(); ++round)
      units_.push_back(unit_of(round, list));
  }

  // Reads its units of the window that begins at `points` by index.
  void read(const Positions &points, Stmts &list) const {
    const Values first = first_values(points, list);
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (std::int64_t e = 0; e < plan_.unit; ++e) {
        Values values;
        for (std::size_t i = 0; i < first.size(); ++i)
          values.push_back(b_.add(first[i], units_[u].at[i]));
        for (std::size_t k = 0; k < dims_.size(); ++k)
          if (const std::int64_t inside = inside_unit(k, e); inside != 0)
            values[at(index_of(k))] = b_.add(values[at(index_of(k))], inside);
        const ExprRef read =
            b_.load(from_.source_buffers[0], element(values), 1, 1, count_if(b_, valid(values), 1));
        const ExprRef place = integer(static_cast<std::int64_t>(u) * plan_.unit + e);
        list.push_back(b_.store(values_, place, b_.cast(read, compute_type(copy_.acc_type))));
      }
  }

  // What was read last, as the window holds it: each unit's chunks of 16 bytes.
  std::vector<ExprRef> converted(Stmts &list) const {
    const auto lanes = static_cast<int>(tile_.chunk());
    const DType type = b_.kernel()[ring_.data()].type.elem;
    std::vector<ExprRef> chunks;
    for (std::int64_t first = 0; first < plan_.rounds() * plan_.unit; first += lanes) {
      const ExprRef read = b_.load(values_, first, lanes);
      const ExprRef value = expr_value(b_, copy_.post, lanes, read, [&](int) { return read; });
      chunks.push_back(named(b_, list, "chunk", b_.cast(value, type)));
    }
    return chunks;
  }

  // Writes these into buffer number `slot`.
  void write(const std::vector<ExprRef> &chunks, ExprRef slot, Stmts &list) const {
    const std::size_t of_unit = chunks.size() / units_.size();
    const ExprRef buffer = named(b_, list, "buffer", b_.mul(slot, ring_.data_elems()));
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (std::size_t k = 0; k < units_[u].to.size(); ++k) {
        const ExprRef place = units_[u].to[k];
        const ExprRef to = b_.add(b_.mul(place, tile_.chunk()), buffer);
        list.push_back(b_.branch(b_.scalar(ScalarOp::Ge, {place, integer(0)}),
                                 b_.store(ring_.data(), to, chunks[u * of_unit + k % of_unit])));
      }
  }

private:
  // The value of one of the copy's indices is that of the window's first unit, that of a unit from
  // there, and that of an element of the unit.
  struct Unit {
    std::vector<ExprRef> at; // by the copy's index
    std::vector<ExprRef> to; // by row, and 16 bytes of the unit: chunk of a buffer, or -1
  };
  using Values = std::vector<ExprRef>; // by the copy's index
  ExprRef below(ExprRef value, std::int64_t end) const { return b_.less(value, end); }

  const WgmmaRing &ring_;
  const Context &from_; // the copy's
  const nest::Nest &copy_;
  const schedule::SpreadPlan plan_;
  const schedule::TileMap map_;
  const nest::Operand &data_;   // of the anchor
  const std::vector<int> dims_; // of the data, by the copy's
  BufferId values_{-1};         // registers
  std::vector<Unit> units_;

  // The copy's index that runs over a dimension that it writes.
  int index_of(std::size_t dim) const {
    const std::vector<std::int64_t> &coeff = copy_.out.dims[dim].at.coeff;
    return static_cast<int>(
        std::find_if(coeff.begin(), coeff.end(), [](auto c) { return c != 0; }) - coeff.begin());
  }

  // What an element of a unit adds to the copy's index over dimension `dim`.
  std::int64_t inside_unit(std::size_t dim, std::int64_t element) const {
    const nest::Dim &to = copy_.out.dims[dim];
    if (dims_[dim] != plan_.dim)
      return 0;
    const std::int64_t whole = element / to.stride;
    return to.stride == plan_.pixel ? whole : whole % to.size;
  }

  // Where the 16-byte chunks of a unit of a line lie in each row that holds it.
  void place_rows(ExprRef line, ExprRef unit, Unit &placed, Stmts &list) const {
    const schedule::Swizzle swizzle = schedule::core_swizzle(tile_.row_bytes());
    const std::int64_t chunks = plan_.unit / tile_.chunk();
    const ExprRef last = named(b_, list, "last_row", b_.div(unit, plan_.step));
    const ExprRef rest = named(b_, list, "in_step", b_.mod(unit, plan_.step));
    for (std::int64_t k = 0; k < plan_.rows(); ++k) {
      // Rows before the last, of neighbouring units others, so that few meet in a bank.
      const ExprRef before =
          named(b_, list, "before", b_.mod(b_.add(b_.mul(last, kApart), k), plan_.rows()));
      const ExprRef pixel = b_.max(b_.sub(last, before), 0);
      const ExprRef number = b_.add(rest, b_.mul(before, plan_.step)); // of the row's units
      ExprRef exists = b_.logical_and(b_.scalar(ScalarOp::Ge, {last, before}),
                                      b_.less(last, b_.add(before, schedule::kWindowPixels)));
      exists = b_.logical_and(exists, below(line, plan_.lines));
      if (plan_.per_row % plan_.step != 0)
        exists = b_.logical_and(exists, below(number, plan_.per_row));
      const ExprRef row = b_.add(b_.mul(line, schedule::kWindowPixels), pixel);
      for (std::int64_t i = 0; i < chunks; ++i) {
        const ExprRef chunk = b_.add(b_.mul(number, chunks), i);
        const ExprRef moved = swizzled(b_, swizzle, chunk, pixel);
        const ExprRef place = b_.add(b_.mul(row, tile_.depth / tile_.chunk()), moved);
        placed.to.push_back(named(b_, list, "to", b_.select(exists, place, kNowhere)));
      }
    }
  }

  Unit unit_of(std::int64_t round, Stmts &list) const {
    Unit placed{.at = Values(copy_.indices.size(), integer(0)), .to = {}};
    const ExprRef number = b_.add(b_.lane(), round * schedule::kGroupItems);
    const ExprRef line = named(b_, list, "line", b_.div(number, plan_.per_line));
    const ExprRef unit = named(b_, list, "unit", b_.mod(number, plan_.per_line));
    place_rows(line, unit, placed, list);
    const std::vector<ExprRef> digits =
        digits_of(b_, line, {map_.box.rbegin(), map_.box.rend() - 2});
    for (std::size_t d = 2; d < map_.box.size(); ++d)
      for (std::size_t k = 0; k < dims_.size(); ++k)
        if (dims_[k] >= 0 && dims_[k] != plan_.dim && copy_.out.dims[k].stride == map_.strides[d])
          placed.at[at(index_of(k))] = named(b_, list, "in_line", digits[map_.box.size() - 1 - d]);
    for (std::size_t k = 0; k < dims_.size(); ++k)
      if (dims_[k] == plan_.dim && copy_.out.dims[k].stride == plan_.pixel)
        placed.at[at(index_of(k))] = b_.mul(unit, plan_.unit / plan_.pixel);
    return placed;
  }

  // Of the window's first unit, by the copy's index.
  Values first_values(const Positions &points, Stmts &list) const {
    Values values(copy_.indices.size(), integer(0));
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (dims_[k] < 0)
        continue;
      if (dims_[k] != plan_.dim) {
        for (std::size_t d = 2; d < map_.box.size(); ++d)
          if (copy_.out.dims[k].stride == map_.strides[d])
            values[at(index_of(k))] = named(b_, list, "first", linear(cx_, map_.place[d], points));
      } else if (copy_.out.dims[k].stride == plan_.pixel) {
        const ExprRef place = linear(cx_, data_.dims[at(plan_.dim)].at, points);
        values[at(index_of(k))] = named(b_, list, "first", b_.div(place, plan_.pixel));
      }
    }
    return values;
  }

  // Whether the copy has such a point, and reads inside its tensor there; null: yes.
  ExprRef valid(const Values &values) const {
    ExprRef exists = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (copy_.indices[i].extent > 1)
        exists = b_.logical_and(exists, below(values[i], copy_.indices[i].extent));
    for (const nest::Dim &dim : copy_.inputs[0].dims)
      if (dim.guarded)
        exists = also_inside(b_, exists, linear(cx_, dim.at, values), dim.size);
    return exists;
  }

  ExprRef element(const Values &values) const {
    return linear(cx_, nest::flat(copy_.inputs[0], copy_.indices.size()), values);
  }
};

} // namespace

StmtRef spread_data(Context &context, const WgmmaParts &parts, poly::MemberId producer) {
  kernel::Builder &b = context.build;
  const WgmmaRing &ring = parts.data_ring;
  SpreadWindow window(context, parts, producer);
  Stmts all = {ring.start(1)};
  window.declare(all);
  const auto read = [&](ExprRef tile, Stmts &list) {
    parts.tiles.take_apart(tile, list);
    window.read(parts.tiles.first_points(), list);
  };
  read(parts.tiles.cluster().number(), all);
  all.push_back(parts.tiles.each(nullptr, [&](ExprRef tile, Stmts &list) {
    const std::vector<ExprRef> chunks = window.converted(list);
    read(b.add(tile, b.kernel().blocks), list); // past the last tile: nothing it needs
    list.push_back(ring.wait_empty());
    window.write(chunks, ring.slot(), list);
    list.push_back(ring.say_full(ring.slot()));
    list.push_back(ring.advance());
  }));
  return b.block(std::move(all));
}

namespace {

constexpr std::int64_t kRun = 16;    // channels that are dealt together
constexpr int kChunk = 8;            // of one exchange of rows
constexpr std::int64_t kDealers = 2; // warps
constexpr std::int64_t kFirstItem = schedule::kGroupItems - kDealers * kCoreLanes;

// Runs of a buffer, one by each work-item at a time. In odd rows chunks lie the other way round.
StmtRef deal_buffer(kernel::Builder &b, const WgmmaRing &ring, BufferId run) {
  const std::int64_t of_row = schedule::kPanelBytes / size_bytes(b.kernel()[run].type.elem) / kRun;
  Stmts list;
  const ExprRef item = item_of_warp(b);
  const ExprRef turned = b.mul(b.mod(b.div(item, of_row), 2), kChunk);
  const ExprRef first = b.add(b.mul(ring.slot(), ring.filter_elems()), b.mul(item, kRun));
  const ExprRef low = named(b, list, "low", b.add(first, turned));
  const ExprRef high = named(b, list, "high", b.sub(b.add(first, kChunk), turned));
  for (std::int64_t i = 0; i < ring.filter_elems(); i += kCoreLanes * kRun) {
    const ExprRef left = b.add(low, i), right = b.add(high, i);
    list.push_back(b.store(run, 0, b.load(ring.filter(), left, kChunk)));
    list.push_back(b.store(run, kChunk, b.load(ring.filter(), right, kChunk)));
    list.push_back(b.store(ring.filter(), left, b.load(run, 0, kChunk, 2)));
    list.push_back(b.store(ring.filter(), right, b.load(run, 1, kChunk, 2)));
  }
  return b.block(std::move(list));
}

} // namespace

StmtRef deal_kept_filter(Context &context, const WgmmaRing &ring) {
  if (!deals_kept_filter(context.gemm()))
    return nullptr;
  kernel::Builder &b = context.build;
  const BufferId run = register_buffer(b, "run", {b.kernel()[ring.filter()].type.elem, 1}, kRun);
  Stmts list;
  const ExprRef dealer = named(b, list, "dealer", b.div(b.sub(b.lane(), kFirstItem), kCoreLanes));
  list.push_back(ring.start(0));
  list.push_back(b.branch(b.less(0, dealer), ring.advance()));
  const StmtRef step = b.block({ring.wait_full(), deal_buffer(b, ring, run), ring.say_ready(),
                                ring.advance(), ring.advance()});
  list.push_back(b.loop(b.variable("step", {}), kernel::ForKind::Serial, dealer,
                        step_stages(context.schedule), kDealers, step));
  return b.branch(b.scalar(ScalarOp::Le, {b.integer(kFirstItem), b.lane()}),
                  b.block(std::move(list)));
}

} // namespace tilefuse::lower
