// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_sums.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "lower/members.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "nest/index.h"
#include "schedule/wgmma/tile_sums.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {
namespace {

using schedule::kGroupItems;
using schedule::kGroupRows;

constexpr std::int64_t kChunk = 8; // sums that a work-item folds at a time
constexpr kernel::Type kFloat = {DType::F32, 1};

std::int64_t largest_divisor(std::int64_t of, std::int64_t most) {
  std::int64_t found = std::max<std::int64_t>(1, std::min(of, most));
  while (of % found != 0)
    --found;
  return found;
}

} // namespace

class TileSums::Sum : GemmPart {
public:
  Sum(Context &context, const TileEnd &end, std::size_t number)
      : GemmPart(context), tiles_(*end.tiles), end_(end), sum_(cx_.members.group.sums[number]),
        nest_(sum_.nest), of_(sum_roles(cx_.members.group, cx_.gemm(), sum_)),
        shares_(sum_shares(cx_.gemm())), swapped_(cx_.schedule.core.swap_ab),
        columns_(tile_.columns), vec_(cx_.gemm().run()), at_a_time_(chunk()),
        term_(schedule::term_of(nest_).value()), chooses_(schedule::chooses_by_copy(nest_, of_)),
        sums_(declare_local(cx_, schedule::LocalUse::Sums, static_cast<int>(number))) {
    if (chooses_)
      terms_.assign(term_.args.begin() + 1, term_.args.end());
    else
      terms_.assign(at(of_.copies), term_);
    added_ =
        register_buffer(b_, "added", kFloat, at_a_time_ * static_cast<std::int64_t>(terms_.size()));
    folded_ = register_buffer(b_, "folded", kFloat, at_a_time_ * of_.copies);
    given_ = register_buffer(b_, "given", kFloat,
                             std::max<std::int64_t>(1, at_a_time_ * of_.copies / 2));
    for (std::size_t k = 0; k < of_.beside.size(); ++k)
      beside_.push_back(of_.beside[k] ? register_buffer(b_, "beside", kFloat, run())
                                      : BufferId{-1});
  }

  StmtRef add(std::int64_t piece) {
    Stmts list;
    if (piece == 0)
      place(list);
    const std::int64_t begin = piece * channels();
    for (std::int64_t first = begin; first < begin + channels(); first += at_a_time_) {
      add_rows(first, list);
      keep(first, fold(list), list);
    }
    return b_.block(std::move(list));
  }

  StmtRef join() { return b_.block({meet(), join_warps(), meet()}); }

private:
  using Inputs = std::vector<ExprRef>;
  // What lanes have when they have exchanged all that they can.
  struct Folded {
    std::int64_t left = 0; // sums of each
    ExprRef number{};      // which the first of them was
    ExprRef keeps{};       // whether this lane is the one that stores them; null: each is
  };

  const WgmmaTiles &tiles_;
  const TileEnd &end_;
  const poly::TileSum &sum_;
  const nest::Nest &nest_;
  const schedule::SumRoles of_;
  const schedule::SumShares shares_;
  const bool swapped_;
  const std::int64_t columns_;   // of the tile
  const std::int64_t vec_;       // neighbouring channels that a work-item stores
  const std::int64_t at_a_time_; // channels whose sums are folded together
  // What is added for each row, by copy; or both of what each copy chooses one of, by what it does
  // not read of pixels, behind the rows.
  std::vector<program::Expr> terms_;
  const program::Expr term_;
  const bool chooses_;
  BufferId sums_{-1}, added_{-1}, folded_{-1}, given_{-1};
  std::vector<BufferId> beside_; // by input that is read at each pixel: a run of it
  ExprRef item_{};               // in the warp
  ExprRef base_{};               // the warp's first sum in local memory
  ExprRef along_{};              // the work-item's first column, in the tile

  // Of the work-item's channel of a number, from its first on.
  ExprRef column_of(ExprRef channel) {
    const std::int64_t run = swapped_ ? 2 : vec_;
    const std::int64_t apart = swapped_ ? kGroupRows : 4 * vec_;
    const std::int64_t step = swapped_ && vec_ == 1 ? schedule::kHalfRows : 1;
    return b_.add(b_.mul(b_.div(channel, run), apart), b_.mul(b_.mod(channel, run), step));
  }

  void place(Stmts &list) {
    item_ = named(b_, list, "summing", b_.mod(b_.lane(), kCoreLanes));
    const ExprRef warp = b_.mod(b_.div(b_.lane(), kCoreLanes), schedule::kGroupWarps);
    const ExprRef row = b_.div(end_.tile_row, tile_.warp_rows);
    const ExprRef place = swapped_ ? row : b_.add(b_.mul(row, schedule::kGroupWarps), warp);
    const ExprRef turn = b_.add(b_.mul(end_.turn, shares_.warps), place);
    base_ = named(b_, list, "warp_sums", b_.mul(turn, of_.copies * columns_));
    const ExprRef first = swapped_ ? b_.add(b_.mul(warp, 16), b_.mul(b_.div(item_, 4), vec_))
                                   : b_.mul(b_.mod(item_, 4), vec_);
    along_ = named(b_, list, "summed", b_.add(end_.tile_column, first));
  }

  // Neighbouring channels that are read at once beside the result.
  std::int64_t run() const { return swapped_ ? std::min<std::int64_t>(vec_, 2) : vec_; }

  // Of a piece, that a work-item has.
  std::int64_t channels() const { return shares_.channels / end_.pieces(); }

  // Channels whose sums are folded together: whole runs of what is read beside them.
  std::int64_t chunk() const {
    const bool has_runs = std::any_of(of_.beside.begin(), of_.beside.end(),
                                      [](const std::optional<int> &extra) { return extra; });
    const std::int64_t most = kChunk / of_.copies;
    return largest_divisor(channels(), has_runs ? std::max(most, run()) : most);
  }

  // What the tile stores there, as it is stored.
  ExprRef stored_value(std::int64_t channel, std::int64_t row) {
    const std::int64_t value =
        swapped_ ? channel / 2 * (tile_.warp_rows / 2) + channel % 2 * (tile_.warp_rows / 4) + row
                 : row * (tile_.warp_columns / 4) + channel;
    const ExprRef held = b_.load(end_.acc, value);
    if (schedule::keeps_results(cx_.gemm()))
      return held;
    const auto none = [](int) -> ExprRef {
      internal_error("a sum of post-ops with operands", __FILE__, __LINE__);
    };
    const ExprRef result = b_.cast(expr_value(b_, cx_.nest.post, 1, held, none), DType::F32);
    const std::optional<ScalarOp> rounding = rounding_to(type_of(cx_.nest, cx_.nest.out));
    return rounding ? b_.scalar(*rounding, {result}) : result;
  }

  // Rows from this work-item's first to that of a number.
  std::int64_t row_of(std::int64_t row) const {
    return swapped_ ? row / 2 * schedule::kHalfRows + row % 2
                    : row / 2 * kGroupRows + row % 2 * schedule::kHalfRows;
  }

  // What lies beside the run that begins with a channel of the work-item.
  void read_beside(std::int64_t channel, std::int64_t row, Stmts &list) {
    const std::int64_t apart =
        swapped_ && vec_ == 1
            ? channel / 2 * kGroupRows + channel % 2 * schedule::kHalfRows
            : channel / (swapped_ ? 2 : vec_) * (swapped_ ? kGroupRows : 4 * vec_);
    for (std::size_t k = 0; k < beside_.size(); ++k)
      if (of_.beside[k])
        list.push_back(b_.store(
            beside_[k], 0,
            b_.cast(end_.ahead->load(*of_.beside[k], row_of(row), apart, static_cast<int>(run())),
                    DType::F32)));
  }

  ExprRef input_at(std::size_t input, std::int64_t copy, ExprRef channel) {
    const nest::Operand &operand = nest_.inputs[input];
    const nest::Linear form = nest::flat(operand, nest_.indices.size());
    ExprRef index = b_.add(form.constant, b_.mul(channel, form.coeff[of_.channel]));
    if (of_.copy)
      index = b_.add(index, copy * form.coeff[*of_.copy]);
    return b_.cast(b_.load(cx_.members.slots[sum_.slots[operand.slot]], index), DType::F32);
  }

  ExprRef term_value(const program::Expr &term, const Inputs &inputs) {
    return expr_value(b_, term, 1, nullptr, [&](int input) { return inputs[at(input)]; });
  }

  // A row more; products are added in one operation.
  ExprRef with_row(ExprRef sum, const program::Expr &term, const Inputs &inputs) {
    const bool is_product = term.kind == program::Expr::Kind::Call && term.op == ScalarOp::Mul;
    if (sum == nullptr || !is_product || term.type != DType::F32)
      return sum == nullptr ? term_value(term, inputs) : b_.add(sum, term_value(term, inputs));
    return b_.fma(term_value(term.args[0], inputs), term_value(term.args[1], inputs), sum);
  }

  // What terms of a channel read that is the same at each pixel, by copy.
  std::vector<Inputs> inputs_of(std::int64_t number, Stmts &list) {
    const ExprRef channel =
        b_.add(b_.add(tiles_.first_column(), along_), column_of(integer(number)));
    std::vector<Inputs> read(at(of_.copies));
    for (std::int64_t copy = 0; copy < of_.copies; ++copy)
      for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
        read[at(copy)].push_back(static_cast<int>(k) == of_.result || of_.beside[k]
                                     ? nullptr
                                     : named(b_, list, "read", input_at(k, copy, channel)));
    return read;
  }

  ExprRef added_place(std::size_t term, std::int64_t c) {
    return integer(static_cast<std::int64_t>(term) * at_a_time_ + c);
  }

  // A row of channel `c` of those that begin with `first`.
  void add_row(std::int64_t first, std::int64_t c, std::int64_t row,
               const std::vector<Inputs> &read, Stmts &list) {
    const ExprRef value = named(b_, list, "stored", stored_value(first + c, row));
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      Inputs inputs = read[chooses_ ? 0 : t];
      inputs[at(of_.result)] = value;
      for (std::size_t k = 0; k < beside_.size(); ++k)
        if (of_.beside[k])
          inputs[k] = b_.load(beside_[k], c % run());
      const ExprRef place = added_place(t, c);
      list.push_back(b_.store(
          added_, place, with_row(row == 0 ? nullptr : b_.load(added_, place), terms_[t], inputs)));
    }
  }

  // Sums of some channels over this work-item's rows: those of the first copy, then of the next.
  void add_rows(std::int64_t first, Stmts &list) {
    for (std::int64_t run_first = 0; run_first < at_a_time_; run_first += run()) {
      const std::int64_t end = std::min(run_first + run(), at_a_time_);
      std::vector<std::vector<Inputs>> read;
      for (std::int64_t c = run_first; c < end; ++c)
        read.push_back(inputs_of(first + c, list));
      for (std::int64_t row = 0; row < shares_.rows; ++row) {
        read_beside(first + run_first, row, list);
        for (std::int64_t c = run_first; c < end; ++c)
          add_row(first, c, row, read[at(c - run_first)], list);
      }
      for (std::int64_t c = run_first; c < end; ++c)
        choose(c, read[at(c - run_first)], list);
    }
  }

  // Of channel `c` what each copy is.
  void choose(std::int64_t c, const std::vector<Inputs> &read, Stmts &list) {
    const auto added = [&](std::size_t term) { return b_.load(added_, added_place(term, c)); };
    for (std::size_t copy = 0; copy < read.size(); ++copy)
      list.push_back(
          b_.store(folded_, added_place(copy, c),
                   chooses_ ? b_.select(term_value(term_.args[0], read[copy]), added(0), added(1))
                            : added(copy)));
  }

  // Lanes give away half of their sums while they have several; then both keep what they add.
  Folded fold(Stmts &list) {
    std::int64_t count = at_a_time_ * of_.copies;
    Folded folded{.number = integer(0)};
    for (const int lanes : shares_.lanes) {
      const bool halves = count % 2 == 0;
      const std::int64_t left = halves ? count / 2 : count;
      const ExprRef bit = b_.mod(b_.div(item_, lanes), 2);
      const ExprRef is_upper = named(b_, list, "upper", b_.equal(bit, 1));
      for (std::int64_t i = 0; i < left; ++i) {
        const ExprRef own = named(b_, list, "own", b_.load(folded_, i));
        const ExprRef other = halves ? named(b_, list, "other", b_.load(folded_, i + left)) : own;
        const ExprRef given = integer(halves ? i : 0);
        list.push_back(b_.store(given_, given, halves ? b_.select(is_upper, own, other) : own));
        list.push_back(b_.shuffle({.value = {given_, given}, .apart = lanes}));
        list.push_back(b_.store(
            folded_, i,
            b_.add(halves ? b_.select(is_upper, other, own) : own, b_.load(given_, given))));
      }
      if (halves)
        folded.number = b_.add(folded.number, b_.mul(bit, left));
      else
        folded.keeps = b_.logical_and(folded.keeps, b_.equal(bit, 0));
      count = left;
    }
    folded.left = count;
    return folded;
  }

  // Into local memory, by copy and column of the tile.
  void keep(std::int64_t first, const Folded &folded, Stmts &list) {
    Stmts kept;
    for (std::int64_t i = 0; i < folded.left; ++i) {
      const ExprRef which = b_.add(folded.number, i);
      const ExprRef copy = b_.div(which, at_a_time_);
      const ExprRef channel = b_.add(b_.mod(which, at_a_time_), first);
      const ExprRef place =
          b_.add(b_.add(b_.add(base_, b_.mul(copy, columns_)), along_), column_of(channel));
      kept.push_back(b_.store(sums_, place, b_.load(folded_, i)));
    }
    list.push_back(b_.branch(folded.keeps, b_.block(std::move(kept))));
  }

  // All warps of the tile.
  StmtRef meet() {
    const schedule::Core &core = cx_.schedule.core;
    const std::int64_t items = kGroupItems * core.warp_rows * core.warp_columns;
    return b_.branch(b_.equal(end_.turn, 0), b_.barrier({.id = 1, .items = items}),
                     b_.barrier({.id = 2, .items = items}));
  }

  // Of the tile in the sum's result, behind which copies and channels lie.
  ExprRef part_base() {
    const nest::Linear out = nest::flat(nest_.out, nest_.indices.size());
    const std::vector<schedule::TileAxis> axes = tile_axes(cx_.gemm());
    ExprRef base = integer(out.constant);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!of_.parts[a])
        continue;
      const ExprRef point = axes[a].pixel ? cx_.origin[*axes[a].pixel] : tiles_.first_row();
      base = b_.add(base, b_.mul(b_.div(point, axes[a].tile), out.coeff[*of_.parts[a]]));
    }
    return base;
  }

  // The sums of the tile's warps, one behind the other, by all its work-items.
  StmtRef join_warps() {
    const schedule::Core &core = cx_.schedule.core;
    const nest::Linear out = nest::flat(nest_.out, nest_.indices.size());
    const std::int64_t items = kGroupItems * core.warp_rows * core.warp_columns;
    const std::int64_t sums = of_.copies * columns_;
    Stmts list;
    const ExprRef base = named(b_, list, "part", part_base());
    const ExprRef group = b_.add(end_.turn, 1);
    const ExprRef item = b_.sub(b_.lane(), b_.mul(group, kGroupItems));
    const ExprRef first = b_.mul(end_.turn, shares_.warps * sums);
    const kernel::VarId number = b_.variable("joined_sum", {});
    ExprRef total = nullptr;
    for (std::int64_t warp = 0; warp < shares_.warps; ++warp) {
      const ExprRef one = b_.load(sums_, b_.add(b_.add(first, warp * sums), b_.var(number)));
      total = total == nullptr ? one : b_.add(total, one);
    }
    const ExprRef column = b_.add(tiles_.first_column(), b_.mod(b_.var(number), columns_));
    ExprRef place = b_.add(base, b_.mul(column, out.coeff[of_.channel]));
    if (of_.copy)
      place = b_.add(place, b_.mul(b_.div(b_.var(number), columns_), out.coeff[*of_.copy]));
    const BufferId to = cx_.members.slots[sum_.slots[nest_.out.slot]];
    list.push_back(
        b_.loop(number, kernel::ForKind::Serial, item, sums, items, b_.store(to, place, total)));
    return b_.block(std::move(list));
  }
};

TileSums::TileSums(Context &context, const TileEnd &end) : context_(context), end_(end) {}

TileSums::~TileSums() = default;

StmtRef TileSums::add(std::int64_t piece) {
  for (std::size_t k = sums_.size(); k < context_.members.group.sums.size(); ++k)
    sums_.push_back(std::make_unique<Sum>(context_, end_, k));
  Stmts list;
  for (const std::unique_ptr<Sum> &sum : sums_)
    list.push_back(sum->add(piece));
  return context_.build.block(std::move(list));
}

StmtRef TileSums::join() {
  Stmts list;
  for (const std::unique_ptr<Sum> &sum : sums_)
    list.push_back(sum->join());
  return context_.build.block(std::move(list));
}

} // namespace tilefuse::lower
