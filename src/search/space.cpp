// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>
#include <cstdlib>

#include "base/index.h"
#include "schedule/guards.h"
#include "schedule/staging.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Fill;
using schedule::Schedule;

constexpr std::int64_t kShortLoop = 4;
constexpr std::int64_t kReadsUnderWay = 16;
constexpr std::int64_t kMostTaps = 7; // that are unrolled so that an index has edges

} // namespace

Space::Space(const Nest &nest, const Target &target) : nest_(nest), target_(target) {
  out_ = nest::flat(nest.out, nest.indices.size());
  if (nest.output_indices == 0)
    return;
  const bool vector = target.lanes == LaneKind::Vector;
  lane_ = vector ? fastest_output(-1) : work_item_index();
  pixel_ = fastest_output(lane_);
  row_ = slowest_large_output();
  if (const int near = nearest_short_output(); !vector && nest.inputs.size() == 1 && near >= 0)
    row_ = near;
}

// The output index with the smallest stride in the result, other than `excluded`.
int Space::fastest_output(int excluded) const {
  int best = -1;
  for (int i = 0; i < nest_.output_indices; ++i)
    if (i != excluded && extent(i) > 1 &&
        (best < 0 || std::llabs(out_.coeff[at(i)]) < std::llabs(out_.coeff[at(best)])))
      best = i;
  return best;
}

// Work-items want many neighbours: the index of least stride that has enough, else the longest.
int Space::work_item_index() const {
  constexpr std::int64_t kEnough = 16;
  int best = fastest_output(-1);
  for (int i = 0; best >= 0 && i < nest_.output_indices; ++i) {
    const bool enough = extent(i) >= kEnough;
    const bool nearer = std::llabs(out_.coeff[at(i)]) < std::llabs(out_.coeff[at(best)]);
    if (enough == (extent(best) >= kEnough) ? (enough ? nearer : extent(i) > extent(best)) : enough)
      best = i;
  }
  return best;
}

// Among the rest the index that splits a network's images into blocks: the longest.
int Space::slowest_large_output() const {
  int best = -1;
  for (int i = 0; i < nest_.output_indices; ++i)
    if (i != lane_ && i != pixel_ && (best < 0 || extent(i) > extent(best)))
      best = i;
  return best;
}

// Among the rest the nearest that a work-item can take whole, or -1.
int Space::nearest_short_output() const {
  constexpr std::int64_t kShort = 4;
  int best = -1;
  for (int i = 0; i < nest_.output_indices; ++i)
    if (i != lane_ && i != pixel_ && extent(i) > 1 && extent(i) <= kShort &&
        (best < 0 || std::llabs(out_.coeff[at(i)]) < std::llabs(out_.coeff[at(best)])))
      best = i;
  return best;
}

// A short innermost loop would cost as much as its work: it is unrolled. Work-items want several
// reads under way.
void Space::unroll_window(Schedule &schedule) const {
  const int inner = schedule.order.back();
  if (target_.lanes == LaneKind::WorkItem) {
    std::int64_t keep = std::min(extent(inner), kReadsUnderWay);
    while (extent(inner) % keep != 0)
      --keep;
    schedule.splits[at(inner)].keep = keep;
    return;
  }
  if (extent(inner) <= kShortLoop)
    schedule.splits[at(inner)].keep = extent(inner);
}

// Whether neighbouring pixels read the same elements at different values of a reduced index.
bool Space::is_pixel_tap(int reduced) const {
  for (const nest::Dim &dim : nest_.inputs[0].dims)
    if (pixel_ >= 0 && dim.at.coeff[at(pixel_)] != 0 && dim.at.coeff[at(reduced)] != 0)
      return true;
  return false;
}

// Unrolled taps of neighbouring pixels would all be kept in registers: where another short index is
// there, that one is innermost and unrolled.
void Space::avoid_shared_taps(Schedule &schedule) const {
  const int inner = schedule.order.back();
  if (inner < nest_.output_indices || extent(inner) > kShortLoop || !is_pixel_tap(inner))
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
  const auto place = [&](int i) {
    return i == lane_ ? 1 : (i == row_ ? 2 : (i == pixel_ ? 3 : 0));
  };
  std::stable_sort(schedule.order.begin(), schedule.order.begin() + nest_.output_indices,
                   [&](int a, int b) { return place(a) < place(b); });
  // The longest run of an input's memory is walked innermost.
  std::stable_sort(schedule.order.begin() + nest_.output_indices, schedule.order.end(),
                   [&](int a, int b) {
                     const nest::Linear in = nest::flat(nest_.inputs[0], nest_.indices.size());
                     return std::llabs(in.coeff[at(a)]) > std::llabs(in.coeff[at(b)]);
                   });
  if (vector)
    avoid_shared_taps(schedule);
  if ((vector || nest_.inputs.size() == 1) && schedule.order.back() >= nest_.output_indices)
    unroll_window(schedule);
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const nest::Operand &input = nest_.inputs[k];
    const bool guarded = std::any_of(input.dims.begin(), input.dims.end(),
                                     [](const nest::Dim &dim) { return dim.guarded; });
    const bool by_lane =
        lane_ >= 0 && nest::flat(input, nest_.indices.size()).coeff[at(lane_)] != 0;
    if (input.constant && !guarded && by_lane && nest_.inputs.size() > 1)
      schedule.fills[k] = Fill::Packed;
    else if (guarded && vector && schedule::has_neutral_fill(nest_))
      schedule.fills[k] = Fill::Local;
  }
  return schedule;
}

bool Space::is_guarded() const {
  for (const nest::Operand &input : nest_.inputs)
    for (const nest::Dim &dim : input.dims)
      if (dim.guarded)
        return true;
  return false;
}

void Space::clip_taps(Schedule &schedule) const {
  for (std::size_t i = at(nest_.output_indices); i < nest_.indices.size(); ++i)
    schedule.splits[i].clip = can_clip(nest_, schedule, i);
}

// Nothing staged: taps along the pixels, and along rows of which several are kept, are unrolled, so
// that these indices can have edges.
void Space::read_in_place(Schedule &schedule) const {
  for (Fill &fill : schedule.fills)
    fill = fill == Fill::Local ? Fill::Direct : fill;
  const auto unroll_taps = [&](int index) {
    for (const nest::Operand &input : nest_.inputs)
      for (const nest::Dim &dim : input.dims)
        for (std::size_t r = at(nest_.output_indices); r < nest_.indices.size(); ++r)
          if (dim.guarded && dim.at.coeff[at(index)] != 0 && dim.at.coeff[r] != 0 &&
              nest_.indices[r].extent <= kMostTaps)
            schedule.splits[r].keep = nest_.indices[r].extent;
  };
  for (int index : {pixel_, row_})
    if (index >= 0 && (index == pixel_ || schedule.splits[at(index)].keep > 1)) {
      unroll_taps(index);
      schedule.splits[at(index)].edge = can_have_edges(nest_, schedule, at(index));
    }
}

// What the lanes run through, or what they read as broadcasts.
void Space::stage_inputs(Schedule &schedule, bool by_lane) const {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (lane_ >= 0 &&
        (nest::flat(nest_.inputs[k], nest_.indices.size()).coeff[at(lane_)] != 0) == by_lane)
      schedule.fills[k] = Fill::Local;
}

// Output indices beside lanes and pixels that share a subscript with a reduced one in one input and
// do not move the other: places in the window of a gradient by weights. The nearest in the result
// is the last.
std::vector<int> Space::window_outputs() const {
  std::vector<int> found;
  for (int o = 0; o < nest_.output_indices; ++o) {
    const auto moves = [&](const nest::Operand &input) {
      return nest::flat(input, nest_.indices.size()).coeff[at(o)] != 0;
    };
    const auto is_window = [&](const nest::Operand &input) {
      return std::any_of(input.dims.begin(), input.dims.end(), [&](const nest::Dim &dim) {
        return dim.at.coeff[at(o)] != 0 &&
               std::any_of(dim.at.coeff.begin() + nest_.output_indices, dim.at.coeff.end(),
                           [](std::int64_t coeff) { return coeff != 0; });
      });
    };
    if (o != lane_ && o != pixel_ && extent(o) > 1 &&
        std::any_of(nest_.inputs.begin(), nest_.inputs.end(), is_window) &&
        !std::all_of(nest_.inputs.begin(), nest_.inputs.end(), moves))
      found.push_back(o);
  }
  std::stable_sort(found.begin(), found.end(), [&](int a, int b) {
    return std::llabs(out_.coeff[at(a)]) > std::llabs(out_.coeff[at(b)]);
  });
  return found;
}

// All places of the window in a block, `copies` of the nearest index in registers.
void Space::hold_window(Schedule &schedule, std::int64_t copies) const {
  const std::vector<int> window = window_outputs();
  for (const int o : window) {
    const std::int64_t keep = o == window.back() ? copies : 1;
    schedule.splits[at(o)] = {(extent(o) + keep - 1) / keep * keep, keep, 1};
  }
}

bool Space::has_constant() const {
  return std::any_of(nest_.inputs.begin(), nest_.inputs.end(),
                     [](const nest::Operand &input) { return input.constant; });
}

// Whether a reduced index shares a subscript with an output index.
bool Space::is_tap(int reduced) const {
  for (const nest::Dim &dim : nest_.inputs[0].dims)
    for (int o = 0; o < nest_.output_indices && dim.at.coeff[at(reduced)] != 0; ++o)
      if (dim.at.coeff[at(o)] != 0)
        return true;
  return false;
}

// As in pooling or depthwise.
bool Space::reduces_taps_only() const {
  for (int r = nest_.output_indices; r < static_cast<int>(nest_.indices.size()); ++r)
    if (!is_tap(r))
      return false;
  return true;
}

// Copies of a row, or of the nearest index of a window. Rows kept in registers share what they
// read: worth it where little else is computed per element.
std::vector<std::int64_t> Space::row_copies(Form form) const {
  if (form == Form::Windowed)
    return {1, 2};
  const bool reads_much = target_.lanes == LaneKind::WorkItem && nest_.inputs.size() == 1;
  if ((form != Form::InPlace && !reads_much) || row_ < 0 || !reduces_taps_only())
    return {1};
  return {1, 2, 4};
}

std::vector<std::int64_t> Space::lane_widths() const {
  std::vector<std::int64_t> widths;
  if (lane_ < 0)
    return widths;
  const std::int64_t most = target_.lanes == LaneKind::Vector
                                ? target_.vector_f32
                                : std::min(target_.vector_f32, target_.max_group);
  for (std::int64_t width = most; width > 1; width /= 2)
    if (width < 2 * extent(lane_))
      widths.push_back(width);
  return widths;
}

} // namespace tilefuse::search
