// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/index.h"
#include "cost/gpu/work_item_model.h"
#include "cost/model.h"
#include "cost/roofline.h"
#include "cost/vector/vector_model.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/dots.h"
#include "schedule/legal.h"
#include "schedule/staging.h"
#include "search/forms/copies.h"
#include "search/forms/dot_forms.h"
#include "search/forms/row_forms.h"
#include "search/space.h"
#include "search/work_items.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;

constexpr double kCertain = 0.999; // of a bound, in spite of rounding
constexpr std::size_t kFew = 4;    // that a search for the best keeps
constexpr std::size_t kMany = 100; // more are not kept apart from all others
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kVectorTiles = 6; // of each form: their block tiles are searched
constexpr std::size_t kRowTiles = 3;    // of a map, of one row each, that are searched besides
constexpr std::int64_t kWide = 16;      // vectors of a step of what is read far apart
constexpr std::int64_t kLaneCopies = 4; // of other steps, along the lanes
constexpr std::int64_t kMapRow = 8;     // of a map's that takes one row

// Doublings of `step` up to a whole `extent`, the last one covering it, and equal shares of the
// units, whole and halved.
std::vector<std::int64_t> tiles(std::int64_t step, std::int64_t extent, std::int64_t units) {
  std::vector<std::int64_t> sizes;
  const std::int64_t steps = (extent + step - 1) / step;
  for (std::int64_t tile = 1; tile < steps; tile *= 2)
    sizes.push_back(tile * step);
  for (const std::int64_t shares : {units, 2 * units})
    sizes.push_back((steps + shares - 1) / shares * step);
  sizes.push_back(steps * step);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

bool is_sooner(const Candidate &a, const Candidate &b) {
  return a.estimate.seconds < b.estimate.seconds;
}

// Takes out of ranked candidates what is there twice; equal schedules have equal estimates, but
// others may stand between them that the model prices alike.
void drop_repeated(std::vector<Candidate> &ranked) {
  std::vector<Candidate> kept;
  for (Candidate &next : ranked) {
    bool is_new = true;
    for (auto one = kept.rbegin();
         one != kept.rend() && one->estimate.seconds == next.estimate.seconds && is_new; ++one)
      is_new = one->schedule != next.schedule;
    if (is_new)
      kept.push_back(std::move(next));
  }
  ranked = std::move(kept);
}

} // namespace

// Vector registers of the register tile: accumulators, the resident operand, and one for the
// streamed one; with a dot product of rows those of the matrix unit.
std::int64_t Space::register_need(const Schedule &schedule) const {
  if (const std::optional<schedule::DotRows> rows = dot_rows(nest_, schedule))
    return rows->registers();
  const std::int64_t accumulators = schedule::accumulators(nest_, schedule);
  if (nest_.inputs.size() < 2)
    return accumulators + 1;
  std::int64_t fewest = accumulators;
  for (const nest::Linear &input : in_) {
    std::int64_t fragments = 1;
    for (const IndexId i : output_indices(nest_))
      if (input.coeff[i] != 0)
        fragments *= schedule.splits[i].keep;
    fewest = std::min(fewest, fragments);
  }
  return accumulators + fewest + 1;
}

// Constants of which another step follows, where machine code has an instruction for it. Those of a
// depthwise window are few and stay in the first level.
void Space::prefetch_packed(Schedule &schedule) const {
  if (!has(target_, Feature::PrefetchHints) || !lane_ || takes_rows() || reduces_taps_only() ||
      extent(*lane_) <= schedule.splits[*lane_].step())
    return;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    schedule.pipes[k].prefetch =
        schedule.fills[k] == schedule::Fill::Packed && stride(k, *lane_) != 0;
}

// Copies of a row, and points of the pixels that a matrix unit takes as rows; 0: no such unit.
std::vector<std::pair<std::int64_t, std::int64_t>> Space::row_choices(Form form) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  const bool is_of_rows = takes_rows() && pixel_;
  for (const std::int64_t copies : row_copies(form))
    for (const std::int64_t points :
         is_of_rows ? row_counts(nest_, *dot_, *pixel_) : std::vector<std::int64_t>{0})
      all.emplace_back(copies, points);
  return all;
}

// Vectors of a step along the lanes.
std::int64_t Space::most_lane_copies() const {
  if (!lane_)
    return 1;
  if (walks_far())
    return kWide;
  if (target_.lanes == LaneKind::Vector)
    return nest_.agg == program::Agg::Assign ? kMapRow : kLaneCopies;
  return pixel_ ? 1 : kLaneCopies;
}

void Space::collect_register_tiles(Form form, std::int64_t lanes) {
  const bool vector = target_.lanes == LaneKind::Vector;
  const std::int64_t budget =
      takes_rows() ? dot_->registers : (vector ? target_.vector_registers : 24);
  const std::int64_t most_lanes = most_lane_copies();
  const Schedule start = base();
  for (std::int64_t keep_lane = 1; keep_lane <= most_lanes; ++keep_lane) {
    if (lane_ && (keep_lane - 1) * lanes >= extent(*lane_))
      break;
    for (const auto &[rows, points] : row_choices(form))
      for (std::int64_t keep = 1; keep <= 14; ++keep) {
        const bool is_long_row = nest_.agg == program::Agg::Assign && keep_lane > kLaneCopies;
        if (keep > 1 && (!pixel_ || keep > extent(*pixel_) || is_long_row))
          break;
        Schedule schedule = start;
        if (lane_)
          schedule.splits[*lane_] = {keep_lane * lanes, keep_lane, lanes};
        if (pixel_ && points > 0)
          set_rows(nest_, schedule, *pixel_, points, keep);
        else if (pixel_)
          schedule.splits[*pixel_] = {keep, keep, 1};
        if (!holds_window(form) && rows > 1 && rows <= extent(*row_))
          schedule.splits[*row_] = {rows, rows, 1};
        if (is_in_place(form))
          read_in_place(schedule);
        if (holds_window(form))
          hold_window(schedule, rows);
        if (form == Form::Gathered || stages_panels(form) || form == Form::Windowed)
          stage_inputs(schedule, stages_panels(form));
        clip_taps(schedule);
        turn_stages(schedule);
        prefetch_packed(schedule);
        if (register_need(schedule) > budget)
          break;
        if (!illegal(nest_, schedule, target_))
          register_tiles_.push_back(priced_tile(std::move(schedule)));
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
  register_tiles_.insert(register_tiles_.begin(), std::make_move_iterator(others.begin()),
                         std::make_move_iterator(others.end()));
}

// Block tiles are tried only for the register tiles that compute fastest; where little is computed
// per element, for those that compute and read it fastest; in a map, for some that take a row, too,
// whose steps may walk as it lies.
void Space::keep_best_register_tiles() {
  const bool is_reading = reduces_taps_only();
  const bool is_map = nest_.agg == program::Agg::Assign; // reads everything once
  const auto time = [&](const Candidate &candidate) {
    const cost::Estimate &estimate = candidate.estimate;
    return (estimate.compute + (is_reading ? estimate.stores : 0) +
            (is_reading && !is_map ? estimate.refill : 0)) *
           static_cast<double>(estimate.blocks);
  };
  std::vector<std::pair<double, std::size_t>> ranked;
  for (const Candidate &candidate : register_tiles_)
    ranked.emplace_back(time(candidate), ranked.size());
  std::sort(ranked.begin(), ranked.end());
  std::vector<Candidate> best;
  for (std::size_t k = 0; k < std::min(ranked.size(), kVectorTiles); ++k)
    best.push_back(std::move(register_tiles_[ranked[k].second]));
  const auto is_row = [&](const Candidate &candidate) {
    return is_map && (!pixel_ || candidate.schedule.splits[*pixel_].keep == 1);
  };
  for (std::size_t k = kVectorTiles; k < ranked.size() && best.size() < kVectorTiles + kRowTiles;
       ++k)
    if (Candidate &one = register_tiles_[ranked[k].second]; is_row(one))
      best.push_back(std::move(one));
  register_tiles_ = std::move(best);
}

std::vector<std::int64_t> Space::tile_choices(const Schedule &schedule,
                                              std::optional<IndexId> index) const {
  return index ? tiles(schedule.splits[*index].step(), extent(*index),
                       std::max(1, target_.compute_units))
               : std::vector<std::int64_t>{1};
}

// Channels innermost write results in the order in which they lie, rows find those that the row
// before them read.
void Space::move_innermost(Schedule &schedule, IndexId index) const {
  const auto end = schedule.order.begin() + nest_.output_indices;
  const auto found = std::find(schedule.order.begin(), end, index);
  std::rotate(found, found + 1, end);
}

// The schedule with every order of loops that is tried.
std::vector<Schedule> Space::orders(const Schedule &schedule) const {
  std::vector<Schedule> all = {schedule};
  for (const std::optional<IndexId> inner : {lane_, row_})
    if (lane_ && pixel_ && inner && (inner == lane_ || is_guarded())) {
      all.push_back(schedule);
      move_innermost(all.back(), *inner);
    }
  return all;
}

void Space::try_block_tiles(const Schedule &schedule) {
  for (const Schedule &ordered : orders(schedule))
    try_tiles(ordered);
}

// Smallest and whole tiles of lanes and pixels with every tile of rows; then what improves the best
// of these, one index at a time.
void Space::try_tiles(const Schedule &schedule) {
  const auto ends = [&](std::optional<IndexId> index) {
    const std::vector<std::int64_t> all = tile_choices(schedule, index);
    return std::vector<std::int64_t>{all.front(), all.back()};
  };
  tried_.clear();
  const cost::VectorPrices prices(nest_, schedule, target_);
  Schedule next = schedule;
  for (std::int64_t lane : ends(lane_))
    for (std::int64_t pixel : ends(pixel_))
      for (std::int64_t row : tile_choices(schedule, row_)) {
        if (lane_)
          next.splits[*lane_].tile = lane;
        if (pixel_)
          next.splits[*pixel_].tile = pixel;
        if (row_)
          next.splits[*row_].tile = row;
        try_tile(next, prices);
      }
  for (const std::optional<IndexId> index : {pixel_, lane_, row_, pixel_, rest_, row_})
    if (index && extent(*index) > 1 && !tried_.empty())
      improve(std::min_element(tried_.begin(), tried_.end(), is_sooner)->schedule, *index, prices);
}

// One way leads to some tiles again: these are kept again, at the price that they had.
void Space::try_tile(const Schedule &schedule, const cost::VectorPrices &prices) {
  const auto known = std::find_if(tried_.begin(), tried_.end(), [&](const Candidate &candidate) {
    return candidate.schedule.splits == schedule.splits;
  });
  if (known != tried_.end())
    return keep(*known);
  if (illegal(nest_, schedule, target_))
    return;
  tried_.push_back({schedule, prices.of(schedule)});
  keep(tried_.back());
}

// Reduced indices that are dealt over lanes; on a CPU in every tile of the rows.
void Space::try_rows() {
  take_axes({std::nullopt, fastest_output()});
  for (Schedule &schedule : row_forms(nest_, target_))
    if (target_.lanes == LaneKind::WorkItem)
      add(std::move(schedule));
    else if (!illegal(nest_, schedule, target_))
      try_tiles(schedule);
}

void Space::improve(Schedule best, IndexId index, const cost::VectorPrices &prices) {
  const std::int64_t had = best.splits[index].tile;
  for (std::int64_t tile : tile_choices(best, index)) {
    best.splits[index].tile = tile;
    if (tile != had)
      try_tile(best, prices);
  }
}

void Space::add(Schedule schedule) {
  clear_copies(schedule);
  if (!illegal(nest_, schedule, target_))
    add_legal(std::move(schedule));
}

void Space::add_legal(Schedule schedule) { keep(priced(std::move(schedule))); }

void Space::keep(const Candidate &candidate) {
  if (most_ == kAll) {
    found_.push_back(candidate);
    return;
  }
  left_out_ = left_out_ || is_full();
  if (is_full() && !is_sooner(candidate, found_.back()))
    return;
  if (is_full())
    found_.pop_back();
  found_.insert(std::upper_bound(found_.begin(), found_.end(), candidate, is_sooner), candidate);
}

// Whether a form of work-items may be among those that are kept.
bool Space::can_be_kept(const Schedule &schedule) {
  const bool can_be = !is_full() || kCertain * cost::least_seconds(nest_, schedule, target_) <
                                        found_.back().estimate.seconds;
  left_out_ = left_out_ || !can_be;
  return can_be;
}

// Of a legal schedule that copies plainly, with the copies it is to make.
Candidate Space::priced(Schedule schedule) {
  if (has_core(schedule) || target_.lanes == LaneKind::Vector) {
    cost::Estimate estimate = cost::predict(nest_, schedule, target_);
    return {std::move(schedule), std::move(estimate)};
  }
  const std::vector<schedule::InputPlace> places = input_places(nest_, schedule);
  assign_copies(nest_, schedule, target_, places);
  cost::Estimate estimate = cost::predict_work_items({nest_, schedule, target_, counts_, places});
  return {std::move(schedule), std::move(estimate)};
}

// Of a register tile: all of its price where work-items compute it, else what tiles are compared by
// and bounded by.
Candidate Space::priced_tile(Schedule schedule) {
  if (target_.lanes == LaneKind::WorkItem)
    return priced(std::move(schedule));
  cost::Estimate estimate =
      cost::predict_vector_tile(nest_, schedule, target_, reduces_taps_only());
  return {std::move(schedule), std::move(estimate)};
}

void Space::collect_register_tiles() {
  collect_register_tiles(Form::Staged);
  if (target_.lanes == LaneKind::Vector && is_guarded() && reads_in_place())
    collect_register_tiles(Form::InPlace);
  if (target_.lanes == LaneKind::Vector && nest_.inputs.size() == 2 && !has_constant() &&
      dot_ == nullptr) {
    collect_register_tiles(Form::Gathered);
    collect_register_tiles(Form::Panelled);
    if (is_guarded())
      collect_register_tiles(Form::InPlacePanelled);
    if (!window_outputs().empty())
      for (const Form form : {Form::Windowed, Form::Held})
        collect_register_tiles(form);
  }
}

void Space::for_each_register_tile(const std::function<void(const Candidate &)> &visit) {
  const bool is_vector = target_.lanes == LaneKind::Vector;
  for (const Axes &axes : is_vector ? vector_axes() : std::vector<Axes>{{lane_, pixel_}}) {
    take_axes(axes);
    register_tiles_.clear();
    collect_register_tiles();
    for (const Candidate &tile : register_tiles_)
      visit(tile);
  }
}

std::vector<Schedule> Space::forms() {
  std::vector<Schedule> all;
  for (Space &space : with_dots())
    for (Schedule &form : space.forms())
      all.push_back(std::move(form));
  for_each_register_tile([&](const Candidate &tile) {
    for (Schedule &ordered : orders(tile.schedule))
      all.push_back(std::move(ordered));
  });
  return all;
}

void Space::sort() { std::stable_sort(found_.begin(), found_.end(), is_sooner); }

// The best few on clusters of blocks.
void Space::try_clusters() {
  constexpr std::size_t kTried = 4;
  std::vector<Schedule> clustered;
  for (std::size_t i = 0; i < std::min(kTried, found_.size()); ++i)
    for (Schedule &schedule : cluster_forms(nest_, found_[i].schedule, target_))
      clustered.push_back(std::move(schedule));
  for (Schedule &schedule : clustered)
    add_legal(std::move(schedule));
  sort();
}

// The best few with their results stored the other way: directly, or turned.
void Space::try_other_stores() {
  constexpr std::size_t kTried = 4;
  std::vector<Schedule> others;
  for (std::size_t i = 0; i < std::min(kTried, found_.size()); ++i) {
    Schedule other = found_[i].schedule;
    const bool is_turned = other.store == schedule::Store::Local;
    other.store = is_turned ? schedule::Store::Direct : schedule::Store::Local;
    const bool suits = is_turned || (other.lanes == LaneKind::WorkItem && lanes_are_apart(other));
    if (suits && !has_core(other))
      others.push_back(std::move(other));
  }
  for (Schedule &schedule : others)
    add(std::move(schedule));
  if (!others.empty())
    sort();
}

// Whether neighbouring work-items store to elements that are not neighbours, in a result without
// gaps.
bool Space::lanes_are_apart(const Schedule &schedule) const {
  const std::vector<schedule::LanePart> digits = lane_digits(schedule);
  return !nest_.inputs.empty() && !digits.empty() && out_.coeff[digits.back().index] > 1 &&
         out_.coeff[*fastest_output()] == 1;
}

// Blocks share out what a register tile computes and stores, but take no less of it, apart from the
// points past the end, which only the last step of a larger block leaves out.
bool Space::is_beaten(const Candidate &tile) const {
  const cost::Estimate &one = tile.estimate;
  const double units = std::max(1, target_.compute_units);
  double inside = 1; // share of the points of all steps
  for (const IndexId i : output_indices(nest_)) {
    const std::int64_t step = tile.schedule.splits[i].step();
    inside *=
        static_cast<double>(extent(i)) / static_cast<double>((extent(i) + step - 1) / step * step);
  }
  const double least = one.launch + kCertain * inside * (one.compute + one.stores) *
                                        static_cast<double>(one.blocks) / units;
  return elsewhere_ < least ||
         std::any_of(found_.begin(), found_.end(),
                     [&](const Candidate &found) { return found.estimate.seconds < least; });
}

// Of all dot products, the fastest first: what they find lets much of the others be left out.
void Space::collect_dots() {
  std::vector<Space> spaces = with_dots();
  std::vector<std::vector<Candidate>> found(spaces.size());
  for (std::size_t i = spaces.size(); i-- > 0;) {
    spaces[i].elsewhere_ = elsewhere_;
    found[i] = spaces[i].ranked(most_);
    if (!found[i].empty())
      elsewhere_ = std::min(elsewhere_, found[i].front().estimate.seconds);
  }
  for (std::vector<Candidate> &of_dot : found)
    for (const Candidate &candidate : of_dot)
      keep(candidate);
}

bool Space::keeps_few() const { return most_ == kFew; }

// Of several, some may be there twice: where too few are left of those kept for that, all are kept.
std::vector<Candidate> Space::best(std::size_t count) {
  const bool keeps_many = target_.lanes == LaneKind::WorkItem && count <= kMany;
  if (count > 1 && !keeps_many)
    return ranked(kAll);
  std::vector<Candidate> found = ranked(count == 1 ? kFew : count + count / 4 + kFew);
  if (found.size() < count && left_out_)
    return Space(nest_, target_, counts_, dot_).ranked(kAll);
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(count, found.size())),
              found.end());
  return found;
}

std::optional<Candidate> Space::best_below(double seconds) {
  elsewhere_ = seconds;
  std::vector<Candidate> found = ranked(kFew);
  return found.front().estimate.seconds < seconds ? std::optional(std::move(found.front()))
                                                  : std::nullopt;
}

// Whether a matrix instruction takes less than all multiply-adds would at their peak.
bool Space::beats_multiply_adds() const {
  if (found_.empty() || !has_core(found_.front().schedule) || !is_float(nest_.acc_type))
    return false;
  const double peak =
      cost::roofline(nest::flops(nest_), 0, schedule::scalar_schedule(nest_), target_).seconds();
  const cost::Estimate &best = found_.front().estimate;
  return best.seconds < best.launch + kCertain * peak;
}

void Space::try_multiply_adds() {
  const bool can_skip = keeps_few() && target_.lanes == LaneKind::Vector;
  for_each_register_tile([&](const Candidate &tile) {
    if (target_.lanes == LaneKind::WorkItem)
      keep(tile);
    else if (!can_skip || !is_beaten(tile))
      try_block_tiles(tile.schedule);
  });
  if (target_.lanes == LaneKind::WorkItem && !multiplies())
    try_wide_items();
  if (dot_ == nullptr)
    try_rows();
  if (target_.lanes == LaneKind::WorkItem)
    visit_multiply_adds(
        nest_, target_, [&](const Schedule &schedule) { return can_be_kept(schedule); },
        [&](Schedule schedule) { add_legal(std::move(schedule)); });
}

std::vector<Candidate> Space::ranked(std::size_t most) {
  most_ = most;
  left_out_ = false;
  collect_dots();
  if (target_.lanes == LaneKind::WorkItem)
    for (Schedule &schedule : matrix_forms(nest_, target_))
      add_legal(std::move(schedule));
  if (!keeps_few() || !beats_multiply_adds())
    try_multiply_adds();
  if (found_.empty() && dot_ == nullptr)
    add(schedule::scalar_schedule(nest_));
  sort();
  try_other_stores();
  try_clusters();
  drop_repeated(found_);
  return std::move(found_);
}

} // namespace tilefuse::search
