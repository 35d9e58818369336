// SPDX-License-Identifier: Apache-2.0
#include "schedule/staging.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/mma/core_roles.h"
#include "schedule/rolling.h"
#include "target/dtype_traits.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

// Points of index i that a staged tile must serve.
std::int64_t span_in_tile(const Nest &nest, const Schedule &schedule, int input, IndexId i) {
  const Split &split = schedule.splits[i];
  if (!is_output(nest, i))
    return holds_chunk(nest, schedule, input, i) ? split.tile
                                                 : round_up(extent(nest, i), split.tile);
  const bool has_lanes = split.lane * split.vec > 1;
  if (split.roll > 0 && !has_lanes && !schedule.pipes[at(input)].at)
    return std::min(split.tile, extent(nest, i));
  const bool one_step = schedule.pipes[at(input)].at || split.tile == split.step();
  return one_step ? points_of_step(nest, schedule, i) : split.tile;
}

// Whether some tile of these spans reaches past an extent.
bool overruns(const Nest &nest, const Schedule &schedule, IndexId i, std::int64_t span) {
  const std::int64_t extent = nest::extent(nest, i);
  const bool chunked = !is_output(nest, i) && schedule.splits[i].tile < extent;
  return extent % (chunked ? schedule.splits[i].tile : span) != 0;
}

// Points that index i has in the tensor that the nest writes: a tile of a result has fewer.
std::int64_t points_in_tensor(const Nest &nest, IndexId i) {
  for (const nest::Dim &dim : nest.out.dims)
    if (dim.at.coeff[i] == 1 && dim.at.constant == 0 &&
        std::count(dim.at.coeff.begin(), dim.at.coeff.end(), 0) + 1 ==
            static_cast<std::ptrdiff_t>(dim.at.coeff.size()))
      return std::max(dim.size, extent(nest, i));
  return extent(nest, i);
}

// The last first point of a tile of index i.
std::int64_t last_origin(const Nest &nest, const Schedule &schedule, int input, IndexId i) {
  const std::int64_t extent = nest::extent(nest, i);
  const bool whole = !is_output(nest, i) && !holds_chunk(nest, schedule, input, i);
  if (whole)
    return 0;
  const bool steps = is_output(nest, i) && schedule.pipes[at(input)].at;
  const std::int64_t span = steps ? schedule.splits[i].step() : schedule.splits[i].tile;
  const std::int64_t moved = is_output(nest, i) ? points_in_tensor(nest, i) - extent : 0;
  return moved + (extent - 1) / span * span;
}

// Room for a window of the tensor where the box leaves it.
void make_room(const Nest &nest, const Schedule &schedule, int input, const nest::Dim &dim,
               StageDim &stage) {
  stage.made = std::min(stage.box, dim.size);
  if (!stage.checked)
    return;
  std::int64_t first = dim.at.constant + stage.lowest;
  std::int64_t last = first;
  for (const IndexId i : nest.indices.ids()) {
    const std::int64_t reach = dim.at.coeff[i] * last_origin(nest, schedule, input, i);
    (reach < 0 ? first : last) += reach;
  }
  stage.before = std::max<std::int64_t>(0, last + stage.made - dim.size);
  const std::int64_t after = std::max<std::int64_t>(0, stage.made - stage.box - first);
  stage.range += stage.before + after;
  stage.lowest -= stage.before;
}

StageDim measure(const Nest &nest, const Schedule &schedule, int input, const nest::Dim &dim) {
  StageDim stage;
  std::int64_t highest = 0;
  const std::optional<IndexId> rolled = rolled_index(schedule);
  const bool rolls = rolled && dim.at.coeff[*rolled] != 0;
  bool partial = rolls; // rows may lie anywhere
  for (const IndexId i : nest.indices.ids()) {
    const std::int64_t span = span_in_tile(nest, schedule, input, i);
    const std::int64_t reach = dim.at.coeff[i] * (span - 1);
    (reach < 0 ? stage.lowest : highest) += reach;
    partial = partial || (dim.at.coeff[i] != 0 && overruns(nest, schedule, i, span));
  }
  stage.range = highest - stage.lowest + 1;
  stage.checked = dim.guarded || partial;
  stage.box = stage.made = stage.range;
  if (schedule.fills[at(input)] == Fill::Produced && !rolls)
    make_room(nest, schedule, input, dim, stage);
  return stage;
}

// Positions in `order` of the innermost output index that moves the dimension, and -1 for none.
int output_place(const Nest &nest, const Schedule &schedule, const nest::Dim &dim) {
  for (int place = nest.output_indices; place-- > 0;)
    if (dim.at.coeff[schedule.order[at(place)]] != 0)
      return place;
  return -1;
}

void lay_out_plain(StageTile &tile) {
  for (auto dim = tile.dims.rbegin(); dim != tile.dims.rend(); ++dim) {
    dim->stride = tile.elems;
    tile.elems *= dim->range;
  }
}

constexpr std::int64_t kVectorElems = 4; // of an aligned access
constexpr std::int64_t kBankSpread = 8;  // rows start this many elements modulo, plus a vector

void lay_out_turned(const Nest &nest, const Schedule &schedule,
                    const std::vector<nest::Dim> &source, StageTile &tile) {
  std::vector<StageDim *> dims; // innermost first
  for (auto dim = tile.dims.rbegin(); dim != tile.dims.rend(); ++dim)
    dims.push_back(&*dim);
  const auto place = [&](const StageDim *dim) {
    return output_place(nest, schedule, source[at(dim->dim)]);
  };
  std::stable_sort(dims.begin(), dims.end(),
                   [&](const StageDim *a, const StageDim *b) { return place(a) > place(b); });
  bool in_row = true;
  for (StageDim *dim : dims) {
    if (in_row && place(dim) < 0 && tile.elems > 1) {
      tile.elems = round_up(tile.elems, kBankSpread) + kVectorElems;
      in_row = false;
    }
    dim->stride = tile.elems;
    tile.elems *= dim->range;
    if (dim == dims.front())
      tile.elems = round_up(tile.elems, kVectorElems);
  }
}

// For vector lanes: they run through the innermost dimension, in rows of whole vectors.
void lay_out_lanes(std::int64_t width, int innermost, StageTile &tile) {
  const auto lay = [&](StageDim &dim) {
    dim.stride = tile.elems;
    tile.elems *= dim.range;
  };
  for (StageDim &dim : tile.dims)
    if (dim.dim == innermost)
      lay(dim);
  tile.elems = round_up(tile.elems, width);
  for (auto dim = tile.dims.rbegin(); dim != tile.dims.rend(); ++dim)
    if (dim->dim != innermost)
      lay(*dim);
}

// plaidml.md, section 2: odd ranges first, larger ones first, even sizes made odd.
void lay_out_odd(StageTile &tile) {
  std::vector<StageDim *> dims;
  for (StageDim &dim : tile.dims)
    dims.push_back(&dim);
  std::stable_sort(dims.begin(), dims.end(), [](const StageDim *a, const StageDim *b) {
    const bool a_odd = a->range % 2 != 0;
    const bool b_odd = b->range % 2 != 0;
    return a_odd != b_odd ? a_odd : a->range > b->range;
  });
  bool padded = false;
  for (StageDim *dim : dims) {
    dim->stride = tile.elems;
    tile.elems *= dim->range;
    padded = tile.elems % 2 == 0;
    tile.elems += padded ? 1 : 0;
  }
  tile.elems -= padded ? 1 : 0;
}

// A packed output index is split into whole steps, outside the reduced ones, and points of a step;
// a reduced one into groups of a dot product and points of a group.
bool is_blocked(const Nest &nest, const Schedule &schedule, int input, IndexId i) {
  if (has_core(schedule))
    return false;
  if (!is_output(nest, i))
    return schedule.splits[i].vec > 1;
  const bool by_steps =
      schedule.lanes == LaneKind::WorkItem || is_staged(schedule.fills[at(input)]);
  return by_steps ? schedule.splits[i].step() > 1 : i == lane_index(schedule);
}

Source packed_source(const Nest &nest, const Schedule &schedule, int input) {
  const PackLayout layout = pack_layout(nest, schedule, input);
  Source source;
  source.steps.assign(nest.indices.size(), 0);
  source.inside.assign(nest.indices.size(), false);
  source.dims.reserve(layout.dims.size());
  std::int64_t stride = 1;
  for (auto from = layout.dims.rbegin(); from != layout.dims.rend(); ++from) {
    const IndexId index = from->index;
    if (source.inside[index]) {
      source.steps[index] = stride / from->step;
    } else {
      source.dims.push_back({.at = along(nest, index), .size = from->count, .stride = stride});
      source.inside[index] = is_blocked(nest, schedule, input, index);
    }
    stride *= from->count;
  }
  std::reverse(source.dims.begin(), source.dims.end());
  return source;
}

} // namespace

PackLayout pack_layout(const Nest &nest, const Schedule &schedule, int input) {
  const nest::Operand &operand = nest.inputs[at(input)];
  const nest::Linear flat = nest::flat(operand, nest.indices.size());
  PackLayout layout;
  const auto uses = [&](IndexId index) { return flat.coeff[index] != 0; };
  const auto append = [&](IndexId index, std::int64_t count, std::int64_t step) {
    layout.dims.push_back({index, count, step});
    layout.elems *= count;
  };
  const auto step = [&](IndexId index) { return schedule.splits[index].step(); };
  const auto group = [&](IndexId index) {
    return has_core(schedule) ? 1 : schedule.splits[index].vec;
  };
  for (const IndexId i : output_indices(nest))
    if (!is_blocked(nest, schedule, input, i) && uses(i))
      append(i, extent(nest, i), 1);
  std::vector<IndexId> blocked;
  for (const IndexId i : schedule.order)
    if (is_output(nest, i) && is_blocked(nest, schedule, input, i) && uses(i))
      blocked.push_back(i);
  for (const IndexId i : blocked)
    append(i, (extent(nest, i) + step(i) - 1) / step(i), step(i));
  const bool in_blocks = has_core(schedule) && core_roles(nest, schedule).has_blocks();
  for (const IndexId i : schedule.order)
    if (!is_output(nest, i) && uses(i))
      append(i,
             in_blocks ? extent(nest, i)
                       : round_up(extent(nest, i), schedule.splits[i].tile) / group(i),
             group(i));
  for (const IndexId i : blocked)
    append(i, step(i), 1);
  for (const IndexId i : reduced_indices(nest))
    if (is_blocked(nest, schedule, input, i) && uses(i))
      append(i, group(i), 1);
  return layout;
}

Source source_of(const Nest &nest, const Schedule &schedule, int input) {
  if (is_packed(schedule.fills[at(input)]))
    return packed_source(nest, schedule, input);
  const nest::Operand &operand = nest.inputs[at(input)];
  return {.dims = operand.dims,
          .offset = operand.offset,
          .steps = Indexed<IndexId, std::int64_t>(nest.indices.size(), 0),
          .inside = Indexed<IndexId, bool>(nest.indices.size(), false)};
}

bool holds_chunk(const Nest &nest, const Schedule &schedule, int input, IndexId index) {
  const std::optional<IndexId> level = schedule.pipes[at(input)].at;
  if (!level)
    return false;
  for (const IndexId i : schedule.order) {
    const bool is_chunked = !is_output(nest, i) && schedule.splits[i].tile < extent(nest, i);
    if (is_chunked && (i == index || i == level))
      return i == index;
  }
  return false;
}

namespace {

// Of an input whose dimensions lie so.
StageTile tile_of(const Nest &nest, const Schedule &schedule, int input,
                  const std::vector<nest::Dim> &source) {
  StageTile tile;
  for (std::size_t d = 0; d < source.size(); ++d) {
    tile.dims.push_back(measure(nest, schedule, input, source[d]));
    tile.dims.back().dim = static_cast<int>(d);
    if (is_packed(schedule.fills[at(input)]))
      tile.dims.back().checked = false;
  }
  std::sort(tile.dims.begin(), tile.dims.end(), [&](const StageDim &a, const StageDim &b) {
    const auto stride = [&](const StageDim &s) { return std::llabs(source[at(s.dim)].stride); };
    if (stride(a) == stride(b) && (a.range == 1) != (b.range == 1))
      return a.range == 1; // no row of one element where there is a longer one
    return stride(a) != stride(b) ? stride(a) > stride(b) : a.dim < b.dim;
  });
  switch (schedule.pipes[at(input)].layout) {
  case Layout::Plain:
    lay_out_plain(tile);
    break;
  case Layout::Transposed:
    if (schedule.lanes == LaneKind::WorkItem)
      lay_out_turned(nest, schedule, source, tile);
    else
      lay_out_lanes(vector_width(schedule), turned_dim(nest, schedule, input).value_or(-1), tile);
    break;
  case Layout::Odd:
    lay_out_odd(tile);
    break;
  }
  return tile;
}

} // namespace

std::optional<int> turned_dim(const Nest &nest, const Schedule &schedule, int input) {
  const std::optional<IndexId> lane = lane_index(schedule);
  std::optional<int> found;
  const std::vector<nest::Dim> &dims = nest.inputs[at(input)].dims;
  for (std::size_t d = 0; lane && d < dims.size(); ++d) {
    const auto &coeff = dims[d].at.coeff;
    if (coeff[*lane] == 0)
      continue;
    const bool is_rising =
        std::all_of(coeff.begin(), coeff.end(), [](std::int64_t c) { return c >= 0; });
    if (found || coeff[*lane] != 1 || dims[d].guarded || !is_rising)
      return {};
    found = static_cast<int>(d);
  }
  return found;
}

StageTile stage_tile(const Nest &nest, const Schedule &schedule, int input) {
  return is_packed(schedule.fills[at(input)])
             ? tile_of(nest, schedule, input, packed_source(nest, schedule, input).dims)
             : tile_of(nest, schedule, input, nest.inputs[at(input)].dims);
}

StageTile stage_tile(const Nest &nest, const Schedule &schedule, int input, const Source &source) {
  return tile_of(nest, schedule, input, source.dims);
}

// A dimension of what is packed runs along one index.
std::int64_t staged_points(const Nest &nest, const Schedule &schedule, int input) {
  const nest::Operand &operand = nest.inputs[at(input)];
  std::int64_t points = 1;
  if (is_packed(schedule.fills[at(input)])) {
    for (const IndexId i : nest.indices.ids())
      points *= moves(operand, i) ? span_in_tile(nest, schedule, input, i) : 1;
    return points;
  }
  for (const nest::Dim &dim : operand.dims)
    points *= measure(nest, schedule, input, dim).range;
  return points;
}

std::vector<InputPlace> input_places(const Nest &nest, const Schedule &schedule) {
  std::vector<InputPlace> places;
  for (int k = 0; k < static_cast<int>(nest.inputs.size()); ++k) {
    InputPlace &place = places.emplace_back(InputPlace{source_of(nest, schedule, k), {}});
    if (is_staged(schedule.fills[at(k)]))
      place.tile = stage_tile(nest, schedule, k, place.source);
  }
  return places;
}

std::int64_t buffer_stride(const Schedule &schedule, int input, const StageTile &tile) {
  return schedule.pipes[at(input)].is_ahead() ? round_up(tile.elems, kVectorElems) : tile.elems;
}

std::int64_t buffer_elems(const Schedule &schedule, int input, const StageTile &tile) {
  return schedule.pipes[at(input)].stages * buffer_stride(schedule, input, tile);
}

bool keeps_vectors(const StageTile &tile, std::int64_t width) {
  for (std::size_t d = 0; d + 1 < tile.dims.size(); ++d)
    if (tile.dims[d].stride % width != 0)
      return false;
  return tile.dims.back().stride == 1;
}

std::int64_t stage_bytes(const Nest &nest, const Schedule &schedule, int input) {
  return buffer_elems(schedule, input, stage_tile(nest, schedule, input)) *
         size_bytes(held_type(nest, schedule, input));
}

std::vector<KernelArg> kernel_args(const Indexed<nest::SlotId, bool> &used,
                                   const std::vector<KernelArg> &packed) {
  std::vector<KernelArg> args;
  for (const nest::SlotId s : used.ids())
    if (used[s])
      args.push_back({.slot = s});
  args.insert(args.end(), packed.begin(), packed.end());
  return args;
}

std::vector<KernelArg> kernel_args(const Nest &nest, const Schedule &schedule) {
  Indexed<nest::SlotId, bool> used(nest.slots.size(), false);
  std::vector<KernelArg> packed;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (is_packed(schedule.fills[k])) {
      packed.push_back({.packed_input = static_cast<int>(k)});
    } else {
      used[nest.inputs[k].slot] = true;
    }
  }
  for (const nest::Operand &extra : nest.extras)
    used[extra.slot] = true;
  used[nest.out.slot] = true;
  return kernel_args(used, packed);
}

bool has_neutral_fill(const Nest &nest) {
  if (nest.comb == program::Comb::None)
    return true;
  return nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul;
}

double neutral_fill(const Nest &nest) {
  return nest.comb == program::Comb::Mul ? 0.0 : nest::initial_value(nest.agg, nest.acc_type);
}

DType held_type(const Nest &nest) {
  if (is_half(nest.acc_type))
    return traits(nest.acc_type).value;
  const bool moves = nest.agg == program::Agg::Assign && nest.comb == program::Comb::None;
  return nest.acc_type == DType::Bool && !moves ? DType::I32 : nest.acc_type;
}

DType held_type(const Nest &nest, const Schedule &schedule, int input) {
  if (schedule.dot != nullptr)
    return dot_type(nest, *schedule.dot, input);
  const bool is_compared = program::compares(nest.comb) && input < 2;
  return is_compared ? nest::input_type(nest, static_cast<std::size_t>(input)) : held_type(nest);
}

// Narrow integers that vectors widen as they read them stay as they are: the product of two of 16
// bits is quicker than one of 32.
DType packed_type(const Nest &nest, const Schedule &schedule, int input) {
  const DType own = type_of(nest, nest.inputs[at(input)]);
  const DType held = held_type(nest, schedule, input);
  const bool is_widened = is_narrow(own) && held == DType::I32 && schedule.dot == nullptr &&
                          schedule.fills[at(input)] == Fill::Packed &&
                          schedule.lanes == LaneKind::Vector;
  return has_core(schedule) || is_widened ? own : held;
}

std::int64_t copies_of(const Split &split, std::int64_t points) {
  return split.near ? split.keep : (points + split.copy_stride() - 1) / split.copy_stride();
}

std::int64_t accumulators(const Nest &nest, const Schedule &schedule) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const IndexId i : output_indices(nest)) {
    const std::int64_t copies = copies_of(schedule.splits[i], points_of_step(nest, schedule, i));
    count = copies > kMost / count ? kMost : count * copies;
  }
  return count;
}

} // namespace tilefuse::schedule
