// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_maps.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/staging.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

// One dimension of an input besides the contiguous one: at most one pixel index moves it.
struct Side {
  const nest::Dim *dim = nullptr;
  std::optional<IndexId> pixel = {};
};

// The map of an input as one matrix of points, or an image: copies walk its rows, which are points of
// `pixels`, shifted by `taps`.
class Mapper {
public:
  Mapper(const Gemm &gemm, int input)
      : nest_(gemm.nest), input_(gemm.nest.inputs[at(input)]), along_(gemm.roles.contiguous(input)),
        plan_(column_plan(gemm)),
        pixels_(gemm.roles.data_turned ? gemm.roles.depths : gemm.roles.pixels),
        taps_(gemm.roles.data_turned ? std::vector<IndexId>() : gemm.roles.walked),
        rows_(!gemm.roles.data_turned      ? gemm.tile.rows
              : input == gemm.roles.filter ? gemm.halo_rows()
                                           : gemm.tile.depth),
        elem_bytes_(size_bytes(type_of(gemm.nest, input_))), halo_(gemm.halo) {
    if (input == gemm.roles.filter)
      taps_ = plan_.taps;
    if (plan_.beside > 1)
      std::erase(taps_, halo_.tap); // a window has them all
    data_ = part_runs(nest_, input_, along_, pixels_, taps_);
    flat_ = nest::flat(input_, nest_.indices.size());
  }

  TileMap run() {
    if (lies_as_matrix()) {
      matrix();
    } else if (std::vector<Side> sides; sort(sides)) {
      image(sides);
    }
    map_.wrong = unfit(map_, elem_bytes_, "data");
    return std::move(map_);
  }

private:
  bool fail(std::string why) {
    map_.wrong = std::move(why);
    return false;
  }
  bool fail(IndexId index) { return fail(no_walk(nest_, index, "data")); }

  const Nest &nest_;
  const nest::Operand &input_;
  const IndexId along_; // along which the input is contiguous
  const ColumnPlan plan_;
  const std::vector<IndexId> &pixels_;
  std::vector<IndexId> taps_;
  const std::int64_t rows_; // of a copy
  const std::int64_t elem_bytes_;
  const StepHalo halo_;
  nest::Operand data_; // the input in runs
  nest::Linear flat_;
  std::vector<const nest::Dim *> part_dims_; // that parts alone move
  TileMap map_;

  bool lies_as_matrix() const {
    for (const nest::Dim &dim : data_.dims)
      if (dim.guarded || moves(dim, taps_, nest_))
        return false;
    return lie_as_one(nest_, flat_, pixels_) && rows_ <= kMostBox && halo_.taps == 1;
  }

  void matrix() {
    map_.offset = flat_.constant;
    map_.add(extent(nest_, along_), 1, still(nest_));
    map_.add(points_of(nest_, pixels_), flat_.coeff[at(pixels_.back())],
             nest::along(nest_, pixels_.back()));
    for (const IndexId part : plan_.parts)
      if (flat_.coeff[at(part)] != 0)
        map_.add(extent(nest_, part), flat_.coeff[at(part)], nest::along(nest_, part));
  }

  bool place(const nest::Dim &dim, std::vector<Side> &sides) {
    if (dim.at.coeff[at(along_)] != 0)
      return true;
    Side side{.dim = &dim};
    for (const IndexId pixel : pixels_)
      if (dim.at.coeff[at(pixel)] != 0 && std::exchange(side.pixel, pixel))
        return fail(pixel);
    if (!moves(dim, plan_.parts, nest_)) {
      sides.push_back(side);
      return true;
    }
    if (dim.guarded || moves(dim, taps_, nest_) || dim.at.constant != 0)
      return fail(plan_.parts.front());
    if (!side.pixel)
      part_dims_.push_back(&dim);
    else
      sides.push_back(side);
    return true;
  }

  // The fastest pixel first; a dimension that only taps move before the slowest.
  bool sort(std::vector<Side> &sides) {
    for (const nest::Dim &dim : data_.dims)
      if (!place(dim, sides))
        return false;
    const auto order = [&](const Side &side) {
      const auto found = std::find(pixels_.begin(), pixels_.end(), side.pixel);
      return found == pixels_.end() ? -1 : found - pixels_.begin();
    };
    std::stable_sort(sides.begin(), sides.end(),
                     [&](const Side &a, const Side &b) { return order(a) > order(b); });
    const auto with_pixels =
        std::count_if(sides.begin(), sides.end(), [](const Side &side) { return side.pixel; });
    if (with_pixels != static_cast<std::ptrdiff_t>(pixels_.size()))
      return fail(pixels_.back());
    // Those without a pixel stand still at one place each.
    if (with_pixels > 0)
      std::rotate(sides.begin() + with_pixels - 1, sides.begin() + with_pixels, sides.end());
    return true;
  }

  bool is_batch(const Side &side) const {
    return side.pixel && side.dim->at.coeff[*side.pixel] == 1 && side.dim->at.constant == 0 &&
           !side.dim->guarded && !moves(*side.dim, taps_, nest_) &&
           side.dim->size >= extent(nest_, *side.pixel);
  }

  bool moves_halo(const nest::Dim &dim) const { return dim.at.coeff[at(halo_.tap)] != 0; }

  void add_spatial(const Side &side) {
    const nest::Linear &subscript = side.dim->at;
    const std::int64_t step = !side.pixel ? 1 : subscript.coeff[*side.pixel];
    const bool is_line = halo_.taps > 1 && side.pixel == pixels_.back();
    const std::int64_t points = !side.pixel ? 1 : extent(nest_, *side.pixel);
    const std::int64_t count = is_line ? halo_.line : points;
    nest::Linear tap = still(nest_);
    std::int64_t lower = subscript.constant;
    for (const IndexId i : taps_) {
      tap.coeff[at(i)] = subscript.coeff[at(i)];
      lower += std::min<std::int64_t>(0, subscript.coeff[at(i)]) * (extent(nest_, i) - 1);
    }
    tap.constant = subscript.constant - lower;
    nest::Linear first = side.pixel ? nest::along(nest_, *side.pixel, step) : still(nest_);
    first.constant = lower;
    // Of data nothing is behind a line.
    const std::int64_t size = is_line && !moves_halo(*side.dim)
                                  ? std::min(side.dim->size, lower + (points - 1) * step + 1)
                                  : side.dim->size;
    map_.add(size, side.dim->stride, std::move(first));
    map_.lower.push_back(lower);
    map_.upper.push_back(lower + (count - 1) * step - (size - 1));
    map_.steps.push_back(step);
    map_.taps.push_back(std::move(tap));
  }

  // Parts around the last dimension, of `size` times `stride`, become one with it.
  bool take_parts(std::int64_t &size, std::int64_t &stride, nest::Linear &last) {
    for (const nest::Dim *dim : part_dims_) {
      const std::int64_t inside = size;
      if (size > 1 && dim->stride != size * stride)
        return fail(plan_.parts.front());
      stride = size > 1 ? stride : dim->stride;
      size *= dim->size;
      for (const IndexId part : plan_.parts)
        last.coeff[at(part)] += dim->at.coeff[at(part)] * inside;
    }
    return part_dims_.size() <= 1 || fail(plan_.parts.back());
  }

  // Parts may move the contiguous dimension too, as groups of channels do.
  void take_first() {
    for (const nest::Dim &dim : data_.dims)
      for (const IndexId part : plan_.parts)
        if (dim.at.coeff[at(along_)] != 0) {
          const std::int64_t apart = dim.at.coeff[at(part)] * dim.stride;
          map_.place[0].coeff[at(part)] = apart;
          map_.dims[0] += apart * (extent(nest_, part) - 1);
          if (extent(nest_, part) > 1 && map_.wrong.empty())
            map_.wrong = misaligned(std::abs(apart), elem_bytes_, "data");
        }
  }

  void image(std::vector<Side> sides) {
    map_.offset = data_.offset;
    map_.add(extent(nest_, along_), 1, still(nest_));
    take_first();
    const bool has_batch = sides.size() > 1 && is_batch(sides.back());
    const Side batch = has_batch ? sides.back() : Side{};
    if (has_batch)
      sides.pop_back();
    for (const Side &side : sides) {
      if (moves(*side.dim, plan_.parts, nest_)) {
        fail(side.pixel.value_or(plan_.parts.back()));
        return;
      }
      add_spatial(side);
    }
    std::int64_t size = 1;
    std::int64_t stride = map_.strides.back();
    nest::Linear last = has_batch ? nest::along(nest_, *batch.pixel) : still(nest_);
    if (has_batch) {
      const bool is_cut = moves(*batch.dim, plan_.parts, nest_);
      size = is_cut ? batch.dim->size : extent(nest_, *batch.pixel);
      stride = batch.dim->stride;
      for (const IndexId part : plan_.parts)
        last.coeff[at(part)] = batch.dim->at.coeff[at(part)];
    }
    if (!take_parts(size, stride, last))
      return;
    map_.add(size, stride, std::move(last));
    check_copies();
  }

  // What each copy says of an image: how many points, and how far taps are from the first.
  void check_copies() {
    const std::int64_t spatial = std::ssize(map_.taps);
    std::int64_t farthest = 0;
    for (const nest::Linear &tap : map_.taps) {
      std::int64_t reach = tap.constant;
      for (const IndexId k : taps_)
        reach += std::max<std::int64_t>(0, tap.coeff[at(k)]) * (extent(nest_, k) - 1);
      farthest = std::max(farthest, reach);
    }
    if (auto wrong = outside({{"im2col.rank", spatial, 1, kMostSpatial},
                              {"im2col.points", rows_, 1, kMostPoints},
                              {"im2col.offset", farthest, 0, most_offset(spatial)}}))
      map_.wrong = *std::move(wrong);
  }
};

// How rows of a tile are dealt: digits of a row's number, fastest first, and how many channels
// apart.
using Digits = std::vector<std::pair<std::int64_t, std::int64_t>>;
Digits digits_of(const Schedule &schedule, std::int64_t vec) {
  if (schedule.core.swap_ab)
    return vec == 1 ? Digits{} : Digits{{8, vec}, {vec, 1}};
  return vec == 2 ? Digits{} : Digits{{2, 1}, {4, vec}, {vec / 2, 2}};
}

// The index that is no digit of a number of rows of the filter, as channels, parts of them and
// blocks of the depth have to be.
std::optional<IndexId> unnumbered(const Nest &nest, const CoreRoles &roles,
                                  const nest::Linear &flat) {
  const std::int64_t across = flat.coeff[at(roles.channel)];
  std::int64_t apart = across;
  for (auto i = roles.channels.rbegin(); i != roles.channels.rend(); ++i) {
    if (flat.coeff[at(*i)] != apart)
      return *i;
    apart *= extent(nest, *i);
  }
  for (const IndexId part : roles.grid)
    if (flat.coeff[at(part)] % across != 0 || roles.filter_turned)
      return part;
  if (roles.has_blocks() && flat.coeff[at(roles.depths[0])] !=
                                extent(nest, roles.depth()) * flat.coeff[at(roles.depth())])
    return roles.depths[0];
  return {};
}

} // namespace

TileMap data_map(const Gemm &gemm) {
  if (has_loading_warps(gemm.schedule) && !has_box(gemm))
    return {};
  return has_box(gemm) && !gemm.roles.data_turned ? box_map(gemm)
                                                  : Mapper(gemm, gemm.roles.data).run();
}

TileMap filter_map(const Gemm &gemm) {
  if (gemm.roles.data_turned)
    return Mapper(gemm, gemm.roles.filter).run();
  const bool packed = is_packed(gemm.schedule.fills[at(gemm.roles.filter)]);
  const std::int64_t sharers = gemm.schedule.tiles.cluster_m;
  const Source source = source_of(gemm.nest, gemm.schedule, gemm.roles.filter);
  const nest::Linear flat =
      nest::flat({.offset = source.offset, .dims = source.dims}, gemm.nest.indices.size());
  std::int64_t reach = 0; // elements from the first tap to the last
  for (const IndexId i : gemm.roles.walked)
    reach += flat.coeff[i] * (extent(gemm.nest, i) - 1);
  TileMap map{{.offset = flat.constant}};
  if (flat.coeff[gemm.roles.channel] == 0) {
    map.wrong = no_walk(gemm.nest, gemm.roles.channel, "filter");
    return map;
  }
  const bool is_turned = gemm.roles.filter_turned;
  nest::Linear first = flat; // coordinate of what is contiguous
  first.constant = 0;
  nest::Linear last = along(gemm.nest, is_turned ? gemm.roles.depth() : gemm.roles.channel);
  std::int64_t channels = gemm.roles.channel_points;
  const std::int64_t across = flat.coeff[at(gemm.roles.channel)];
  const std::int64_t length = reach + (is_turned ? channels : gemm.roles.depth_points);
  if (const std::optional<IndexId> index = unnumbered(gemm.nest, gemm.roles, flat))
    map.wrong = no_walk(gemm.nest, *index, "filter");
  for (const IndexId part : gemm.roles.grid) {
    last.coeff[at(part)] = std::exchange(first.coeff[at(part)], 0) / across;
    channels += last.coeff[at(part)] * (extent(gemm.nest, part) - 1);
  }
  for (const IndexId i : gemm.roles.walked)
    if (std::string wrong = misaligned(flat.coeff[at(i)], gemm.tile.elem_bytes, "filter");
        !wrong.empty())
      map.wrong = std::move(wrong);
  if (is_turned) {
    first.coeff[at(gemm.roles.depth())] = 0;
    map.panels = gemm.tile.columns / gemm.panel;
    map.add(length, 1, std::move(first), gemm.panel);
    map.add(gemm.roles.depth_points, flat.coeff[at(gemm.roles.depth())], std::move(last),
            gemm.tile.depth / sharers);
  } else {
    for (const IndexId i : gemm.roles.channels)
      first.coeff[at(i)] = 0;
    map.add(length, 1, std::move(first), gemm.tile.depth);
    for (const auto &[count, apart] : digits_of(gemm.schedule, gemm.run())) {
      map.unit *= count;
      map.add(count, apart * across, still(gemm.nest), count);
    }
    for (const IndexId part : gemm.roles.grid)
      if (auto wrong = outside({"grid.channels", last.coeff[at(part)], 0, kNoEnd, map.unit}))
        map.wrong = *std::move(wrong);
    map.add(channels / map.unit, map.unit * across, std::move(last),
            gemm.tile.columns / sharers / map.unit);
    // What follows the depth of a tap is the next tap, which zeros of the data do not always undo.
    if (reach > 0 && !packed && map.wrong.empty())
      map.wrong = overrun(gemm.roles.depth_points, gemm.tile.depth);
  }
  map.wrong = unfit(map, gemm.tile.elem_bytes, "filter");
  std::int64_t end = map.offset;
  for (std::size_t i = 0; i < map.dims.size(); ++i)
    end += (map.dims[i] - 1) * map.strides[i];
  const std::int64_t elems =
      packed ? pack_layout(gemm.nest, gemm.schedule, gemm.roles.filter).elems
             : gemm.nest.slots[gemm.nest.inputs[at(gemm.roles.filter)].slot].elems;
  if (map.wrong.empty() && end >= elems)
    map.wrong = no_walk(gemm.nest, gemm.roles.channel, "filter");
  return map;
}

} // namespace tilefuse::schedule
