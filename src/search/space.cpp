// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/index.h"
#include "cost/expression.h"
#include "schedule/guards.h"
#include "schedule/staging.h"
#include "search/forms/dot_forms.h"
#include "target/dot_lanes.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Fill;
using schedule::Schedule;

constexpr std::int64_t kShortLoop = 4;
constexpr std::int64_t kReadsUnderWay = 16;
constexpr double kFewSlots = 2;       // of a term that is repeated as often
constexpr std::int64_t kMostTaps = 7; // that are unrolled so that an index has edges

// Whether an input may be read outside its tensor.
bool leaves_tensor(const nest::Operand &input) {
  return std::any_of(input.dims.begin(), input.dims.end(),
                     [](const nest::Dim &dim) { return dim.guarded; });
}

} // namespace

Space::Space(const Nest &nest, const Target &target, cost::LaneCounts &counts, const DotOp *dot)
    : nest_(nest), target_(target), dot_(dot), counts_(counts) {
  out_ = nest::flat(nest.out, nest.indices.size());
  for (const nest::Operand &input : nest.inputs)
    in_.push_back(nest::flat(input, nest.indices.size()));
  if (nest.output_indices == 0)
    return;
  const bool is_vector = target.lanes == LaneKind::Vector;
  std::optional<IndexId> lane = is_vector ? fastest_output() : work_item_index();
  if (dot != nullptr)
    lane = dot_lanes(nest, *dot);
  take_axes({lane, copies_beside(lane)});
}

void Space::take_axes(const Axes &axes) {
  lane_ = axes.lane;
  pixel_ = axes.pixel;
  row_ = longest_output({lane_, pixel_});
  if (const std::optional<IndexId> near = nearest_short_output();
      target_.lanes == LaneKind::WorkItem && nest_.inputs.size() == 1 && near)
    row_ = near;
  rest_ = longest_output({lane_, pixel_, row_});
}

// Whether no other lanes can be much better: vectors along the index are whole, they lie together
// in the result and in what they read, and the other factor is known and can be packed.
bool Space::serves_lanes(IndexId index) const {
  constexpr std::int64_t kMany = 8; // vectors, of which one may be in part
  const std::int64_t width = target_.vector_f32;
  const bool is_whole = extent(index) % width == 0 || extent(index) >= kMany * width;
  bool is_near = true;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    is_near =
        is_near && (nest_.inputs[k].constant || stride(k, index) == 0 || stride(k, index) == 1);
  return is_whole && has_constant() && std::llabs(out_.coeff[index]) == 1 && is_near;
}

// The index that moves one input and not the other, and has so many points: the fastest in the
// result of these, or else the longest.
std::optional<IndexId> Space::factor_index(std::size_t input, std::int64_t points) const {
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_)) {
    if (!nest::moves(nest_.inputs[input], i) || nest::moves(nest_.inputs[1 - input], i) ||
        extent(i) == 1)
      continue;
    const auto rank = [&](IndexId index) {
      return std::pair(std::min(extent(index), points), -std::llabs(out_.coeff[index]));
    };
    if (!best || rank(i) > rank(*best))
      best = i;
  }
  return best;
}

// What vectors and register copies are tried along: the fastest indices of the result and, where
// these do not serve, an index of each factor, either way.
std::vector<Space::Axes> Space::vector_axes() const {
  std::vector<Axes> all = {{lane_, pixel_}};
  if (const std::optional<IndexId> across = across_results())
    all.push_back({across, lane_});
  if (!lane_ || dot_ != nullptr || nest_.inputs.size() != 2 || serves_lanes(*lane_))
    return all;
  for (const std::size_t k : {0, 1}) {
    const Axes axes{factor_index(k, target_.vector_f32), factor_index(1 - k, kShortLoop + 1)};
    if (axes.lane && axes.pixel && axes != all[0])
      all.push_back(axes);
  }
  // One index moves both factors, as in a depthwise layer: lanes along it.
  if (const std::optional<IndexId> shared = shared_index(); all.size() == 1 && shared != lane_)
    all.push_back({shared, copies_beside(shared)});
  return all;
}

// Of a nest of one input whose results have few neighbours, or of a map that reads them apart: another
// index for vectors, that whose points lie nearest in an operand, the longest of these.
std::optional<IndexId> Space::across_results() const {
  if (!lane_ || nest_.inputs.size() > 1)
    return std::nullopt;
  const auto apart = [&](IndexId index) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::vector<nest::Operand> *operands : {&nest_.inputs, &nest_.extras})
      for (const nest::Operand &operand : *operands)
        if (nest::moves(operand, index))
          least = std::min<std::int64_t>(
              least, std::llabs(nest::flat(operand, nest_.indices.size()).coeff[index]));
    return least;
  };
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_))
    if (i != lane_ && extent(i) > kShortLoop &&
        (!best || std::pair(apart(i), -extent(i)) < std::pair(apart(*best), -extent(*best))))
      best = i;
  const bool is_short = 2 * extent(*lane_) <= target_.vector_f32;
  const bool is_turned = nest_.agg == program::Agg::Assign && best && apart(*best) < apart(*lane_);
  return is_short || is_turned ? best : std::nullopt;
}

// The longest index that moves both inputs, if it has more points than a window.
std::optional<IndexId> Space::shared_index() const {
  std::optional<IndexId> longest = lane_;
  for (const IndexId i : output_indices(nest_))
    if (moves_all_inputs(i) && extent(i) > kShortLoop && extent(i) > extent(*longest))
      longest = i;
  return longest;
}

// Whether results leave through local memory: vectors are not neighbours in the result, and no
// copies fill the gaps between their elements.
bool Space::turns_results() const {
  const std::optional<IndexId> fastest = fastest_output();
  const bool is_joined =
      nest_.agg == program::Agg::Assign && fastest && extent(*fastest) <= kShortLoop;
  return target_.lanes == LaneKind::Vector && lane_ && lane_ != fastest && !is_joined;
}

// What vectors run through and that lies along another dimension is staged turned.
void Space::turn_stages(Schedule &schedule) const {
  for (std::size_t k = 0; k < nest_.inputs.size() && lane_; ++k)
    if (target_.lanes == LaneKind::Vector && schedule.fills[k] == Fill::Local &&
        stride(k, *lane_) > 2 && turned_dim(nest_, schedule, static_cast<int>(k)))
      schedule.pipes[k].layout = schedule::Layout::Transposed;
}

// The output index with the smallest stride in the result, other than `excluded`.
std::optional<IndexId> Space::fastest_output(std::optional<IndexId> excluded) const {
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_))
    if (i != excluded && extent(i) > 1 &&
        (!best || std::llabs(out_.coeff[i]) < std::llabs(out_.coeff[*best])))
      best = i;
  return best;
}

// The output index whose register copies stand beside lanes along `lane`: the fastest in the result
// of those that leave one of two factors in place, so that copies share what they read of it. An
// index that moves both, as groups and batches do, serves where there is no other.
std::optional<IndexId> Space::copies_beside(std::optional<IndexId> lane) const {
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_))
    if (i != lane && extent(i) > 1 && !moves_all_inputs(i) &&
        (!best || std::llabs(out_.coeff[i]) < std::llabs(out_.coeff[*best])))
      best = i;
  return best ? best : fastest_output(lane);
}

bool Space::moves_all_inputs(IndexId index) const {
  return nest_.inputs.size() > 1 &&
         std::all_of(nest_.inputs.begin(), nest_.inputs.end(),
                     [&](const nest::Operand &input) { return nest::moves(input, index); });
}

// Work-items want many neighbours: the index of least stride that has enough, else the longest.
std::optional<IndexId> Space::work_item_index() const {
  constexpr std::int64_t kEnough = 16;
  std::optional<IndexId> best = fastest_output();
  if (!best)
    return best;
  for (const IndexId i : output_indices(nest_)) {
    const bool enough = extent(i) >= kEnough;
    const bool nearer = std::llabs(out_.coeff[i]) < std::llabs(out_.coeff[*best]);
    if (enough == (extent(*best) >= kEnough) ? (enough ? nearer : extent(i) > extent(*best))
                                             : enough)
      best = i;
  }
  return best;
}

// Among the others: the index that splits a network's images into blocks.
std::optional<IndexId>
Space::longest_output(const std::vector<std::optional<IndexId>> &beside) const {
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_))
    if (std::find(beside.begin(), beside.end(), i) == beside.end() &&
        (!best || extent(i) > extent(*best)))
      best = i;
  return best;
}

// Among the rest the nearest that a work-item can take whole.
std::optional<IndexId> Space::nearest_short_output() const {
  constexpr std::int64_t kShort = 4;
  std::optional<IndexId> best;
  for (const IndexId i : output_indices(nest_))
    if (i != lane_ && i != pixel_ && extent(i) > 1 && extent(i) <= kShort &&
        (!best || std::llabs(out_.coeff[i]) < std::llabs(out_.coeff[*best])))
      best = i;
  return best;
}

// A short innermost loop would cost as much as its work: it is unrolled. Work-items want several
// reads under way.
void Space::unroll_window(Schedule &schedule) const {
  const IndexId inner = schedule.order.back();
  if (target_.lanes == LaneKind::WorkItem) {
    std::int64_t keep = std::min(extent(inner), kReadsUnderWay);
    while (extent(inner) % keep != 0)
      --keep;
    schedule.splits[inner].keep = keep;
    return;
  }
  if (extent(inner) <= kShortLoop || walks_far())
    schedule.splits[inner].keep = std::min(extent(inner), kReadsUnderWay);
}

// Whether results are sums, or the like, of what one input has far apart, not in windows.
bool Space::walks_far() const {
  const auto reduced = reduced_indices(nest_);
  return target_.lanes == LaneKind::Vector && nest_.inputs.size() == 1 &&
         nest_.agg != program::Agg::Assign && cost::expression_slots(nest_.term) <= kFewSlots &&
         std::none_of(reduced.begin(), reduced.end(), [&](IndexId r) { return is_tap(r); });
}

// Whether neighbouring pixels read the same elements at different values of a reduced index.
bool Space::is_pixel_tap(IndexId reduced) const {
  for (const nest::Dim &dim : nest_.inputs[0].dims)
    if (pixel_ && dim.at.coeff[*pixel_] != 0 && dim.at.coeff[reduced] != 0)
      return true;
  return false;
}

// Unrolled taps of neighbouring pixels would all be kept in registers: where another short index is
// there, that one is innermost and unrolled.
void Space::avoid_shared_taps(Schedule &schedule) const {
  const IndexId inner = schedule.order.back();
  if (is_output(nest_, inner) || extent(inner) > kShortLoop || !is_pixel_tap(inner))
    return;
  const auto first = schedule.order.begin() + nest_.output_indices;
  for (auto i = schedule.order.end(); i-- != first;)
    if (extent(*i) > 1 && extent(*i) <= kShortLoop && !is_tap(*i)) {
      std::rotate(i, i + 1, schedule.order.end());
      return;
    }
}

Schedule Space::base() const {
  Schedule schedule = schedule::scalar_schedule(nest_);
  const bool vector = target_.lanes == LaneKind::Vector;
  schedule.name = vector ? "nest" : "ilpm";
  schedule.lanes = target_.lanes;
  const auto place = [&](IndexId i) {
    return i == lane_ ? 1 : (i == row_ ? 2 : (i == pixel_ ? 3 : 0));
  };
  std::stable_sort(schedule.order.begin(), schedule.order.begin() + nest_.output_indices,
                   [&](IndexId a, IndexId b) { return place(a) < place(b); });
  // The longest run of an input's memory is walked innermost.
  if (!nest_.inputs.empty())
    std::stable_sort(
        schedule.order.begin() + nest_.output_indices, schedule.order.end(),
        [&](IndexId a, IndexId b) { return std::llabs(stride(0, a)) > std::llabs(stride(0, b)); });
  if (vector)
    avoid_shared_taps(schedule);
  if ((vector || nest_.inputs.size() == 1 || program::compares(nest_.comb)) &&
      !is_output(nest_, schedule.order.back()))
    unroll_window(schedule);
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const nest::Operand &input = nest_.inputs[k];
    const bool guarded = leaves_tensor(input);
    const bool by_lane = lane_ && stride(k, *lane_) != 0;
    if (input.constant && !guarded && by_lane && nest_.inputs.size() > 1 && positions(nest_) == 0)
      schedule.fills[k] = Fill::Packed;
    else if (guarded && vector && schedule::has_neutral_fill(nest_))
      schedule.fills[k] = Fill::Local;
  }
  if (turns_results())
    schedule.store = schedule::Store::Local;
  return dot_ == nullptr ? schedule : *search::with_dots(nest_, *dot_, schedule);
}

// Of the same nest and target, by dot product of vectors that the nest can be computed with.
std::vector<Space> Space::with_dots() const {
  std::vector<Space> spaces;
  for (const DotRate &rate : target_.dots)
    if (dot_ == nullptr && target_.lanes == LaneKind::Vector &&
        search::with_dots(nest_, *rate.op, schedule::scalar_schedule(nest_)))
      spaces.emplace_back(nest_, target_, counts_, rate.op);
  return spaces;
}

// Whether what is not packed may be read where it lies.
bool Space::reads_in_place() const {
  if (dot_ == nullptr)
    return true;
  const Schedule direct = *search::with_dots(nest_, *dot_, schedule::scalar_schedule(nest_));
  return std::find(direct.fills.begin(), direct.fills.end(), Fill::Local) == direct.fills.end();
}

bool Space::is_guarded() const {
  return std::any_of(nest_.inputs.begin(), nest_.inputs.end(), leaves_tensor);
}

void Space::clip_taps(Schedule &schedule) const {
  for (const IndexId i : reduced_indices(nest_))
    schedule.splits[i].clip = can_clip(nest_, schedule, i);
}

// Nothing staged: taps along the pixels, and along rows of which several are kept, are unrolled, so
// that these indices can have edges.
void Space::read_in_place(Schedule &schedule) const {
  for (Fill &fill : schedule.fills)
    fill = fill == Fill::Local ? Fill::Direct : fill;
  const auto unroll_taps = [&](IndexId index) {
    for (const nest::Operand &input : nest_.inputs)
      for (const nest::Dim &dim : input.dims)
        for (const IndexId r : reduced_indices(nest_))
          if (dim.guarded && dim.at.coeff[index] != 0 && dim.at.coeff[r] != 0 &&
              extent(r) <= kMostTaps)
            schedule.splits[r].keep = extent(r);
  };
  for (const std::optional<IndexId> index : {pixel_, row_})
    if (index && (index == pixel_ || schedule.splits[*index].keep > 1)) {
      unroll_taps(*index);
      schedule.splits[*index].edge = can_have_edges(nest_, schedule, *index);
    }
}

// What the lanes run through, or what they read as broadcasts. What may be read outside its tensor
// is read as the form says already.
void Space::stage_inputs(Schedule &schedule, bool by_lane) const {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (lane_ && !leaves_tensor(nest_.inputs[k]) && (stride(k, *lane_) != 0) == by_lane)
      schedule.fills[k] = Fill::Local;
}

// Output indices beside lanes and pixels that share a subscript with a reduced one in one input and
// do not move the other: places in the window of a gradient by weights. The nearest in the result
// is the last.
std::vector<IndexId> Space::window_outputs() const {
  std::vector<IndexId> found;
  for (const IndexId o : output_indices(nest_)) {
    const auto moves = [&](const nest::Linear &input) { return input.coeff[o] != 0; };
    const auto is_window = [&](const nest::Operand &input) {
      return std::any_of(input.dims.begin(), input.dims.end(), [&](const nest::Dim &dim) {
        return dim.at.coeff[o] != 0 &&
               std::any_of(dim.at.coeff.begin() + nest_.output_indices, dim.at.coeff.end(),
                           [](std::int64_t coeff) { return coeff != 0; });
      });
    };
    if (o != lane_ && o != pixel_ && extent(o) > 1 &&
        std::any_of(nest_.inputs.begin(), nest_.inputs.end(), is_window) &&
        !std::all_of(in_.begin(), in_.end(), moves))
      found.push_back(o);
  }
  std::stable_sort(found.begin(), found.end(), [&](IndexId a, IndexId b) {
    return std::llabs(out_.coeff[a]) > std::llabs(out_.coeff[b]);
  });
  return found;
}

// All places of the window in a block, `copies` of the nearest index in registers.
void Space::hold_window(Schedule &schedule, std::int64_t copies) const {
  const std::vector<IndexId> window = window_outputs();
  for (const IndexId o : window) {
    const std::int64_t keep = o == window.back() ? copies : 1;
    schedule.splits[o] = {(extent(o) + keep - 1) / keep * keep, keep, 1};
  }
}

bool Space::has_constant() const {
  return std::any_of(nest_.inputs.begin(), nest_.inputs.end(),
                     [](const nest::Operand &input) { return input.constant; });
}

// Whether a reduced index shares a subscript with an output index.
bool Space::is_tap(IndexId reduced) const {
  for (const nest::Dim &dim : nest_.inputs[0].dims)
    for (const IndexId o : output_indices(nest_))
      if (dim.at.coeff[reduced] != 0 && dim.at.coeff[o] != 0)
        return true;
  return false;
}

// As in pooling or depthwise.
bool Space::reduces_taps_only() const {
  for (const IndexId r : reduced_indices(nest_))
    if (!is_tap(r))
      return false;
  return true;
}

// Copies of a row, or of the nearest index of a window. Rows kept in registers share what they
// read: worth it where little else is computed per element.
std::vector<std::int64_t> Space::row_copies(Form form) const {
  if (holds_window(form)) {
    const std::int64_t places = extent(window_outputs().back());
    return places > 2 && places <= kMostTaps ? std::vector<std::int64_t>{1, 2, places}
                                             : std::vector<std::int64_t>{1, 2};
  }
  if (takes_rows() && row_)
    return {1, 2};
  const bool reads_much = target_.lanes == LaneKind::WorkItem && nest_.inputs.size() == 1;
  if ((!is_in_place(form) && !reads_much) || !row_ || !reduces_taps_only())
    return {1};
  return {1, 2, 4};
}

std::vector<std::int64_t> Space::lane_widths() const {
  std::vector<std::int64_t> widths;
  if (!lane_)
    return widths;
  const std::int64_t most =
      target_.lanes == LaneKind::Vector
          ? (dot_ == nullptr ? target_.vector_f32 : most_lanes(target_, *dot_))
          : std::min(target_.vector_f32, target_.max_group);
  // What waits for memory alone waits longer where few lanes of a warp read.
  const bool waits = target_.lanes == LaneKind::WorkItem && !multiplies() && !nest_.inputs.empty();
  const std::int64_t least = waits ? std::min<std::int64_t>(target_.warp / 2, extent(*lane_)) : 2;
  // A matrix unit takes as long for few lanes as for all.
  const std::int64_t fewest = takes_rows() ? std::min(most, extent(*lane_)) : least;
  for (std::int64_t width = most; width > 1; width /= 2)
    if (width < 2 * extent(*lane_) && width >= fewest)
      widths.push_back(width);
  return widths;
}

} // namespace tilefuse::search
