// SPDX-License-Identifier: Apache-2.0
#include "search/pick.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include "schedule/core_forms.h"
#include "schedule/guards.h"
#include "schedule/staging.h"
#include "schedule/wgmma_forms.h"
#include "search/work_items.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Fill;
using schedule::Schedule;
using schedule::Split;

constexpr std::int64_t kShortLoop = 4;
constexpr std::size_t kVectorTiles = 6; // of each form: their block tiles are searched
constexpr std::int64_t kMostTaps = 7;   // that are unrolled so that an index has edges

// How an input that may be read outside its tensor is read: from a staged, padded tile, or in place
// with taps that are clipped and edges.
// Gathered: the staged form, with what lanes read as broadcasts staged too.
enum class Form { Staged, InPlace, Gathered };

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Doublings of `step` up to a whole `extent`, the last one covering it.
std::vector<std::int64_t> tiles(std::int64_t step, std::int64_t extent) {
  std::vector<std::int64_t> sizes;
  const std::int64_t whole = (extent + step - 1) / step * step;
  for (std::int64_t tile = step; tile < whole; tile *= 2)
    sizes.push_back(tile);
  sizes.push_back(whole);
  return sizes;
}

class Space {
public:
  Space(const Nest &nest, const Target &target) : nest_(nest), target_(target) {
    out_ = nest::flat(nest.out, nest.indices.size());
    if (nest.output_indices == 0)
      return;
    const bool vector = target.lanes == LaneKind::Vector;
    lane_ = vector ? fastest_output(-1) : work_item_index();
    pixel_ = fastest_output(lane_);
    row_ = slowest_large_output();
  }

  std::vector<Candidate> best(std::size_t count);

private:
  std::int64_t extent(int i) const { return nest_.indices[at(i)].extent; }

  // The output index with the smallest stride in the result, other than `excluded`.
  int fastest_output(int excluded) const {
    int best = -1;
    for (int i = 0; i < nest_.output_indices; ++i)
      if (i != excluded && extent(i) > 1 &&
          (best < 0 || std::llabs(out_.coeff[at(i)]) < std::llabs(out_.coeff[at(best)])))
        best = i;
    return best;
  }

  // Work-items want many neighbours: the index of least stride that has enough, else the longest.
  int work_item_index() const {
    constexpr std::int64_t kEnough = 16;
    int best = fastest_output(-1);
    for (int i = 0; best >= 0 && i < nest_.output_indices; ++i) {
      const bool enough = extent(i) >= kEnough;
      const bool nearer = std::llabs(out_.coeff[at(i)]) < std::llabs(out_.coeff[at(best)]);
      if (enough == (extent(best) >= kEnough) ? (enough ? nearer : extent(i) > extent(best))
                                              : enough)
        best = i;
    }
    return best;
  }

  // Among the rest the index that splits a network's images into blocks: the longest.
  int slowest_large_output() const {
    int best = -1;
    for (int i = 0; i < nest_.output_indices; ++i)
      if (i != lane_ && i != pixel_ && (best < 0 || extent(i) > extent(best)))
        best = i;
    return best;
  }

  void unroll_window(Schedule &schedule) const;
  Schedule base() const;
  bool is_guarded() const;
  void clip_taps(Schedule &schedule) const;
  void read_in_place(Schedule &schedule) const;
  void stage_broadcasts(Schedule &schedule) const;
  bool has_constant() const;
  bool reduces_taps_only() const;
  std::vector<std::int64_t> row_copies(Form form) const;
  std::vector<std::int64_t> lane_widths() const;
  std::int64_t register_need(const Schedule &schedule) const;
  void collect_register_tiles(Form form, std::int64_t lanes);
  void collect_register_tiles(Form form);
  void keep_best_register_tiles();
  void try_block_tiles(const Schedule &schedule);
  void move_innermost(Schedule &schedule, int index) const;
  void try_tiles(const Schedule &schedule);
  void improve(Schedule best, int index);
  std::vector<std::int64_t> tile_choices(const Schedule &schedule, int index) const;
  void add(const Schedule &schedule);

  const Nest &nest_;
  const Target &target_;
  nest::Linear out_;
  int lane_ = -1;
  int pixel_ = -1;
  int row_ = -1;
  std::vector<Candidate> register_tiles_; // the smallest block of each
  std::vector<Candidate> found_;
};

// A short innermost loop would cost as much as its work: it is unrolled.
void Space::unroll_window(Schedule &schedule) const {
  const int inner = schedule.order.back();
  if (extent(inner) <= kShortLoop)
    schedule.splits[at(inner)].keep = extent(inner);
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

void Space::stage_broadcasts(Schedule &schedule) const {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (lane_ >= 0 && nest::flat(nest_.inputs[k], nest_.indices.size()).coeff[at(lane_)] == 0)
      schedule.fills[k] = Fill::Local;
}

bool Space::has_constant() const {
  return std::any_of(nest_.inputs.begin(), nest_.inputs.end(),
                     [](const nest::Operand &input) { return input.constant; });
}

// Every reduced index shares a subscript with an output index, as in pooling or depthwise.
bool Space::reduces_taps_only() const {
  for (std::size_t r = at(nest_.output_indices); r < nest_.indices.size(); ++r) {
    bool is_tap = false;
    for (const nest::Dim &dim : nest_.inputs[0].dims)
      for (int o = 0; o < nest_.output_indices && dim.at.coeff[r] != 0; ++o)
        is_tap = is_tap || dim.at.coeff[at(o)] != 0;
    if (!is_tap)
      return false;
  }
  return true;
}

// Rows kept in registers share what they read: worth it where little else is computed per element.
std::vector<std::int64_t> Space::row_copies(Form form) const {
  if (form != Form::InPlace || row_ < 0 || !reduces_taps_only())
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

// Vector registers of the register tile: accumulators, the resident operand, and one for the
// streamed one.
std::int64_t Space::register_need(const Schedule &schedule) const {
  const std::int64_t accumulators = schedule::accumulators(nest_, schedule);
  if (nest_.inputs.size() < 2)
    return accumulators + 1;
  std::int64_t fewest = accumulators;
  for (const nest::Operand &input : nest_.inputs) {
    std::int64_t fragments = 1;
    for (int i = 0; i < nest_.output_indices; ++i)
      if (nest::flat(input, nest_.indices.size()).coeff[at(i)] != 0)
        fragments *= schedule.splits[at(i)].keep;
    fewest = std::min(fewest, fragments);
  }
  return accumulators + fewest + 1;
}

void Space::collect_register_tiles(Form form, std::int64_t lanes) {
  const bool vector = target_.lanes == LaneKind::Vector;
  const std::int64_t budget = vector ? target_.vector_registers : 24;
  const std::int64_t most_lanes = vector && lane_ >= 0 ? 4 : 1;
  for (std::int64_t keep_lane = 1; keep_lane <= most_lanes; ++keep_lane) {
    if (lane_ >= 0 && (keep_lane - 1) * lanes >= extent(lane_))
      break;
    for (std::int64_t rows : row_copies(form))
      for (std::int64_t keep = 1; keep <= 14; ++keep) {
        if (keep > 1 && (pixel_ < 0 || keep > extent(pixel_)))
          break;
        Schedule schedule = base();
        if (lane_ >= 0)
          schedule.splits[at(lane_)] = {keep_lane * lanes, keep_lane, lanes};
        if (pixel_ >= 0)
          schedule.splits[at(pixel_)] = {keep, keep, 1};
        if (rows > 1 && rows <= extent(row_))
          schedule.splits[at(row_)] = {rows, rows, 1};
        if (form == Form::InPlace)
          read_in_place(schedule);
        if (form == Form::Gathered)
          stage_broadcasts(schedule);
        clip_taps(schedule);
        if (register_need(schedule) > budget)
          break;
        if (!schedule::illegal(nest_, schedule, target_))
          register_tiles_.push_back({schedule, cost::predict(nest_, schedule, target_)});
      }
  }
}

// The tiles of a form that compute fastest, beside those of other forms.
void Space::collect_register_tiles(Form form) {
  std::vector<Candidate> others = std::move(register_tiles_);
  register_tiles_.clear();
  for (std::int64_t lanes : lane_widths())
    collect_register_tiles(form, lanes);
  if (register_tiles_.empty() && nest_.output_indices > 0)
    collect_register_tiles(form, 1);
  if (target_.lanes == LaneKind::Vector)
    keep_best_register_tiles();
  register_tiles_.insert(register_tiles_.begin(), others.begin(), others.end());
}

// Block tiles are tried only for the register tiles that compute fastest.
void Space::keep_best_register_tiles() {
  const auto compute = [](const Candidate &candidate) {
    return candidate.estimate.compute * static_cast<double>(candidate.estimate.blocks);
  };
  std::stable_sort(register_tiles_.begin(), register_tiles_.end(),
                   [&](const Candidate &a, const Candidate &b) { return compute(a) < compute(b); });
  if (register_tiles_.size() > kVectorTiles)
    register_tiles_.resize(kVectorTiles);
}

std::vector<std::int64_t> Space::tile_choices(const Schedule &schedule, int index) const {
  return index < 0 ? std::vector<std::int64_t>{1}
                   : tiles(schedule.splits[at(index)].step(), extent(index));
}

// Channels innermost write results in the order in which they lie, rows find those that the row
// before them read.
void Space::move_innermost(Schedule &schedule, int index) const {
  const auto end = schedule.order.begin() + nest_.output_indices;
  const auto found = std::find(schedule.order.begin(), end, index);
  std::rotate(found, found + 1, end);
}

void Space::try_block_tiles(const Schedule &schedule) {
  if (target_.lanes == LaneKind::WorkItem)
    return add(schedule);
  try_tiles(schedule);
  for (int inner : {lane_, row_})
    if (lane_ >= 0 && pixel_ >= 0 && inner >= 0 && (inner == lane_ || is_guarded())) {
      Schedule other = schedule;
      move_innermost(other, inner);
      try_tiles(other);
    }
}

// Smallest and whole tiles of lanes and pixels with every tile of rows; then what improves the best
// of these, one index at a time.
void Space::try_tiles(const Schedule &schedule) {
  const auto ends = [&](int index) {
    const std::vector<std::int64_t> all = tile_choices(schedule, index);
    return std::vector<std::int64_t>{all.front(), all.back()};
  };
  const std::size_t first = found_.size();
  Schedule next = schedule;
  for (std::int64_t lane : ends(lane_))
    for (std::int64_t pixel : ends(pixel_))
      for (std::int64_t row : tile_choices(schedule, row_)) {
        if (lane_ >= 0)
          next.splits[at(lane_)].tile = lane;
        if (pixel_ >= 0)
          next.splits[at(pixel_)].tile = pixel;
        if (row_ >= 0)
          next.splits[at(row_)].tile = row;
        add(next);
      }
  for (int index : {pixel_, lane_, row_, pixel_}) {
    const auto best = std::min_element(found_.begin() + static_cast<std::ptrdiff_t>(first),
                                       found_.end(), [](const Candidate &a, const Candidate &b) {
                                         return a.estimate.seconds < b.estimate.seconds;
                                       });
    if (index >= 0 && best != found_.end())
      improve(best->schedule, index);
  }
}

void Space::improve(Schedule best, int index) {
  const std::int64_t had = best.splits[at(index)].tile;
  for (std::int64_t tile : tile_choices(best, index)) {
    best.splits[at(index)].tile = tile;
    if (tile != had)
      add(best);
  }
}

void Space::add(const Schedule &schedule) {
  if (schedule::illegal(nest_, schedule, target_))
    return;
  found_.push_back({schedule, cost::predict(nest_, schedule, target_)});
}

std::vector<Candidate> Space::best(std::size_t count) {
  collect_register_tiles(Form::Staged);
  if (target_.lanes == LaneKind::Vector && is_guarded())
    collect_register_tiles(Form::InPlace);
  if (target_.lanes == LaneKind::Vector && nest_.inputs.size() == 2 && !has_constant())
    collect_register_tiles(Form::Gathered);
  for (const Candidate &tile : register_tiles_)
    try_block_tiles(tile.schedule);
  if (target_.lanes == LaneKind::WorkItem)
    for (const Schedule &schedule : work_item_forms(nest_, target_))
      add(schedule);
  if (found_.empty())
    add(schedule::scalar_schedule(nest_));
  std::stable_sort(found_.begin(), found_.end(), [](const Candidate &a, const Candidate &b) {
    return a.estimate.seconds < b.estimate.seconds;
  });
  const auto last =
      std::unique(found_.begin(), found_.end(),
                  [](const Candidate &a, const Candidate &b) { return a.schedule == b.schedule; });
  found_.erase(last, found_.end());
  if (found_.size() > count)
    found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(count), found_.end());
  return std::move(found_);
}

} // namespace

std::vector<Candidate> candidates(const Nest &nest, const Target &target, std::size_t count) {
  return Space(nest, target).best(count);
}

Schedule pick(const Nest &nest, const Target &target) {
  return candidates(nest, target, 1).front().schedule;
}

std::optional<Schedule> pick_tf32(const Nest &nest, const Target &target) {
  std::optional<Schedule> best;
  double least = candidates(nest, target, 1).front().estimate.seconds;
  std::vector<Schedule> all = schedule::wgmma_schedules(nest, target, true);
  const std::vector<Schedule> others = schedule::core_schedules(nest, target, true);
  all.insert(all.end(), others.begin(), others.end());
  for (Schedule &schedule : all) {
    const double seconds = cost::predict(nest, schedule, target).seconds;
    if (seconds >= least)
      continue;
    least = seconds;
    best = std::move(schedule);
  }
  return best;
}

} // namespace tilefuse::search
