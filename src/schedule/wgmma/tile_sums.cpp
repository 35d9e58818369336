// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/tile_sums.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/merge.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
constexpr std::int64_t kMostCopies = 4; // sums of a channel that registers hold beside tiles

nest::Linear flat_out(const Gemm &gemm) {
  return nest::flat(gemm.nest.out, gemm.nest.indices.size());
}

bool reads(const program::Expr &expr, const std::function<bool(int)> &which) {
  return expr.kind == program::Expr::Kind::Operand
             ? which(expr.operand)
             : std::any_of(expr.args.begin(), expr.args.end(),
                           [&](const program::Expr &arg) { return reads(arg, which); });
}

// Whether two operands have the same element at each point.
bool lies_alike(const Nest &nest, const nest::Operand &a, const nest::Operand &b) {
  const nest::Linear one = nest::flat(a, nest.indices.size());
  const nest::Linear other = nest::flat(b, nest.indices.size());
  const auto is_guarded = [](const nest::Dim &dim) { return dim.guarded; };
  for (const IndexId i : nest.indices.ids())
    if (extent(nest, i) > 1 && one.coeff[i] != other.coeff[i])
      return false;
  return one.constant == other.constant && std::none_of(a.dims.begin(), a.dims.end(), is_guarded);
}

// Whether a reduced index of a sum steps over the result's points along an axis, all of them;
// indices are taken apart for that.
bool has_axis(Nest &sum, int result, const TileAxis &axis) {
  for (const IndexId i : reduced_indices(sum)) {
    const std::int64_t step = nest::flat(sum.inputs[at(result)], sum.indices.size()).coeff[i];
    const std::int64_t points = extent(sum, i);
    if (step <= 0 || axis.stride % step != 0 || step * points < axis.stride * axis.points)
      continue;
    if (step == axis.stride && points == axis.points)
      return true;
    const std::int64_t inner = step == axis.stride ? axis.points : axis.stride / step;
    if (points % inner != 0)
      continue;
    sum = split_index(sum, i, inner);
    return has_axis(sum, result, axis);
  }
  return false;
}

// The index of an axis, where has_axis has found it.
IndexId index_of(const Nest &sum, int result, const TileAxis &axis) {
  const nest::Linear from = nest::flat(sum.inputs[at(result)], sum.indices.size());
  for (const IndexId i : reduced_indices(sum))
    if (from.coeff[i] == axis.stride && extent(sum, i) == axis.points)
      return i;
  internal_error("an axis of tiles without an index", __FILE__, __LINE__);
}

// Fits the indices of a sum to axes and channels, one after the other.
class Fitting {
public:
  Fitting(const poly::Group &group, const Gemm &gemm, const poly::TileSum &sum)
      : sum_(sum), nest_(sum.nest), gemm_(gemm), axes_(tile_axes(gemm)) {
    roles_.result = summed_input(group, sum);
    from_ = nest::flat(nest_.inputs[at(roles_.result)], nest_.indices.size());
    roles_.parts.resize(axes_.size());
  }

  // Whether its parts are the tiles, and what is known of them is known for each channel.
  bool run() {
    const nest::Linear out = flat_out(gemm_);
    if (!term_of(nest_) || from_.constant != out.constant ||
        type_of(nest_, nest_.out) != DType::F32 || nest_.acc_type != DType::F32)
      return false;
    bool has_channel = false;
    for (const IndexId i : output_indices(nest_)) {
      if (extent(nest_, i) == 1)
        continue;
      const bool is_channel = from_.coeff[i] == 1 && extent(nest_, i) == gemm_.roles.channel_points;
      if (is_channel && !has_channel)
        roles_.channel = i;
      else if (from_.coeff[i] == 0 && !roles_.copy)
        roles_.copy = i;
      else if (is_channel || from_.coeff[i] == 0 || !take_part(i))
        return false;
      has_channel = has_channel || is_channel;
    }
    roles_.copies = roles_.copy ? extent(nest_, *roles_.copy) : 1;
    return has_channel && roles_.copies <= kMostCopies && has_points() && has_inputs();
  }

  SumRoles roles() && { return std::move(roles_); }

private:
  bool take_part(IndexId i) {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const TileAxis &axis = axes_[a];
      if (roles_.parts[a] || from_.coeff[i] != axis.stride * axis.tile ||
          extent(nest_, i) != axis.tiles())
        continue;
      roles_.parts[a] = i;
      return true;
    }
    return false;
  }

  // Every axis has its parts, and what is reduced are the points of a tile.
  bool has_points() const {
    std::size_t used = 0, taken = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const TileAxis &axis = axes_[a];
      if (axis.tiles() > 1 && !roles_.parts[a])
        return false;
      taken += axis.tile > 1 ? 1 : 0;
      for (const IndexId i : reduced_indices(nest_))
        used += axis.tile > 1 && from_.coeff[i] == axis.stride && extent(nest_, i) == axis.tile;
    }
    return used == taken && used == reduced_indices(nest_).size();
  }

  // What else it reads is the same at each pixel, or fetched ahead with the tile.
  bool has_inputs() {
    roles_.beside.resize(nest_.inputs.size());
    for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
      if (static_cast<int>(k) == roles_.result || is_same_at_pixels(nest_.inputs[k]))
        continue;
      roles_.beside[k] = fetched(nest_.inputs[k], sum_.slots[nest_.inputs[k].slot]);
      if (!roles_.beside[k])
        return false;
    }
    return true;
  }

  bool is_same_at_pixels(const nest::Operand &input) const {
    for (const IndexId i : nest_.indices.ids()) {
      const bool is_free = i == roles_.channel || i == roles_.copy || extent(nest_, i) == 1;
      if (!is_free && nest::moves(input, i))
        return false;
    }
    return true;
  }

  // The operand of post-ops that an input of the group's slot is, at the points of the result.
  std::optional<int> fetched(const nest::Operand &input, poly::SlotId slot) const {
    if (gemm_.schedule.extra.stages == 0 || !lies_alike(nest_, input, result()))
      return std::nullopt;
    for (const AheadOperand &ahead : ahead_operands(gemm_)) {
      const nest::Operand &extra = gemm_.nest.extras[at(ahead.extra)];
      if (extra.slot == slot && lies_alike(gemm_.nest, extra, gemm_.nest.out))
        return ahead.extra;
    }
    return std::nullopt;
  }

  const nest::Operand &result() const { return nest_.inputs[at(roles_.result)]; }

  const poly::TileSum &sum_;
  const Nest &nest_;
  const Gemm &gemm_;
  const std::vector<TileAxis> axes_;
  nest::Linear from_;
  SumRoles roles_;
};

} // namespace

std::vector<TileAxis> tile_axes(const Gemm &gemm) {
  const nest::Linear out = flat_out(gemm);
  const std::vector<IndexId> &pixels = gemm.roles.pixels;
  if (!has_box(gemm))
    return {{std::nullopt, out.coeff[pixels.back()], gemm.roles.points, gemm.tile.rows}};
  std::vector<TileAxis> axes;
  for (const IndexId i : pixels)
    axes.push_back({i, out.coeff[i], extent(gemm.nest, i), gemm.schedule.splits[i].tile});
  return axes;
}

bool can_sum_tiles(const Gemm &gemm) {
  if (!gemm.is_wgmma() || gemm.roles.data_turned || exchanges(gemm) || gemm.row.used > 1 ||
      gemm.schedule.tiles.split_k > 1 || gemm.core().op->d.type != DType::F32)
    return false;
  const nest::Linear out = flat_out(gemm);
  if (!gemm.roles.grid.empty() || gemm.roles.channels.size() != 1 ||
      out.coeff[gemm.roles.channel] != 1 || gemm.roles.channel_points % gemm.tile.columns != 0 ||
      (!has_box(gemm) && !lie_as_one(gemm.nest, out, gemm.roles.pixels)))
    return false;
  std::int64_t rows = 1;
  for (const TileAxis &axis : tile_axes(gemm)) {
    if (axis.points % axis.tile != 0)
      return false;
    rows *= axis.tile;
  }
  return rows == gemm.tile.rows;
}

std::optional<nest::SplitNests> tile_parts(const Gemm &gemm, const Nest &sum, int result) {
  if (!can_sum_tiles(gemm))
    return std::nullopt;
  Nest whole = nest::merge_indices(sum);
  const std::vector<TileAxis> axes = tile_axes(gemm);
  for (const TileAxis &axis : axes)
    if (axis.points > 1 && !has_axis(whole, result, axis))
      return std::nullopt;
  nest::ReductionSplit split;
  for (const TileAxis &axis : axes)
    if (axis.tiles() > 1)
      split.push_back({index_of(whole, result, axis), axis.tiles()});
  if (split.empty() || nest::illegal_split(whole, split))
    return std::nullopt;
  return nest::split_reduction(whole, split);
}

std::optional<Nest> with_operands(const Nest &nest, const Nest &sum, int result,
                                  std::vector<nest::SlotId> &taken) {
  Nest found = nest;
  const nest::Operand &summed = sum.inputs[at(result)];
  for (std::size_t k = 0; k < sum.inputs.size(); ++k) {
    const nest::Operand &input = sum.inputs[k];
    const bool is_reduced =
        std::any_of(reduced_indices(sum).begin(), reduced_indices(sum).end(),
                    [&](IndexId i) { return extent(sum, i) > 1 && nest::moves(input, i); });
    if (static_cast<int>(k) == result || !is_reduced)
      continue;
    if (!lies_alike(sum, input, summed))
      return std::nullopt;
    nest::Operand operand = nest.out;
    operand.slot = found.slots.next_id();
    found.slots.push_back(sum.slots[input.slot]);
    found.extras.push_back(std::move(operand));
    taken.push_back(input.slot);
  }
  return found;
}

bool sums_are_of_tiles(const poly::Group &group, const Schedule &schedule) {
  if (group.sums.empty())
    return true;
  if (!has_core(schedule) || !is_wgmma(*schedule.core.op))
    return false;
  const Gemm gemm = gemm_of(group.anchor, schedule);
  return can_sum_tiles(gemm) &&
         std::all_of(group.sums.begin(), group.sums.end(),
                     [&](const poly::TileSum &sum) { return Fitting(group, gemm, sum).run(); });
}

SumRoles sum_roles(const poly::Group &group, const Gemm &gemm, const poly::TileSum &sum) {
  Fitting fitting(group, gemm, sum);
  TILEFUSE_CHECK(fitting.run(), "a sum of other tiles");
  return std::move(fitting).roles();
}

bool keeps_results(const Gemm &gemm) { return !gemm.nest.extras.empty(); }

std::optional<program::Expr> term_of(const Nest &sum) {
  if (sum.comb == program::Comb::Term)
    return sum.term;
  const auto input = [&](int number) { return program::operand(number, sum.acc_type); };
  if (sum.comb == program::Comb::None)
    return input(0);
  if (sum.comb == program::Comb::Mul && sum.inputs.size() == 2)
    return program::call(ScalarOp::Mul, {input(0), input(1)});
  return std::nullopt;
}

bool chooses_by_copy(const Nest &sum, const SumRoles &roles) {
  const program::Expr term = term_of(sum).value();
  if (term.kind != program::Expr::Kind::Call || term.op != ScalarOp::Select)
    return false;
  const auto is_of_copy = [&](int input) {
    return roles.copy && nest::moves(sum.inputs[at(input)], *roles.copy);
  };
  const auto is_of_pixels = [&](int input) {
    return input == roles.result || roles.beside[at(input)];
  };
  return !reads(term.args[0], is_of_pixels) && !reads(term.args[1], is_of_copy) &&
         !reads(term.args[2], is_of_copy);
}

SumShares sum_shares(const Gemm &gemm) {
  const CoreTile &tile = gemm.tile;
  if (gemm.core().swap_ab) // registers hold 2 channels of 64, and pairs of points of each 8
    return {.channels = tile.warp_columns / kGroupRows * 2,
            .rows = tile.warp_rows / 4,
            .lanes = {2, 1},
            .warps = gemm.core().warp_rows};
  return {.channels = tile.warp_columns / 4, // and 2 rows of each 64
          .rows = tile.warp_rows / kGroupRows * 2,
          .lanes = {16, 8, 4},
          .warps = kGroupWarps * gemm.core().warp_rows};
}

std::int64_t sum_elems(const Gemm &gemm, const SumRoles &roles) {
  return gemm.schedule.roles.math.instances * sum_shares(gemm).warps * roles.copies *
         gemm.tile.columns;
}

} // namespace tilefuse::schedule
