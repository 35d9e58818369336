// SPDX-License-Identifier: Apache-2.0
// The space that search looks through for vectors and for work-items without a named form: which
// index the lanes, the registers and the blocks take, how inputs are read, and the tiles of each.
// space.cpp has the forms, space_tiles.cpp their register and block tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "cost/gpu/lane_access.h"
#include "cost/vector/vector_model.h"
#include "nest/index.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "search/candidate.h"
#include "target/target.h"

namespace tilefuse::search {

using nest::IndexId;

// How an input that may be read outside its tensor is read: from a staged, padded tile, or in place
// with taps that are clipped and edges.
// Gathered: the staged form, with what lanes read as broadcasts staged too; Panelled: with what the
// lanes run through; InPlacePanelled: the in-place form with that; Windowed: gathered, and a block
// computes all places of the window that it reads; Held: the staged form with these.
enum class Form { Staged, InPlace, Gathered, Panelled, InPlacePanelled, Windowed, Held };

constexpr bool is_in_place(Form form) {
  return form == Form::InPlace || form == Form::InPlacePanelled;
}
constexpr bool stages_panels(Form form) {
  return form == Form::Panelled || form == Form::InPlacePanelled;
}
constexpr bool holds_window(Form form) { return form == Form::Windowed || form == Form::Held; }

class Space {
public:
  // `counts`: of accesses that this search and others of the target have counted. With `dot`, only
  // schedules that multiply with it.
  Space(const nest::Nest &nest, const Target &target, cost::LaneCounts &counts,
        const DotOp *dot = nullptr);

  // The best so many, or all there are, best first; others are left out as soon as they are known
  // not to be among them.
  std::vector<Candidate> best(std::size_t count);
  // The best of vectors if it takes less than `seconds`; what takes as long is left out early.
  std::optional<Candidate> best_below(double seconds);
  // What is tried in block tiles: register tiles in every order of loops, one step a block.
  std::vector<schedule::Schedule> forms();

private:
  std::int64_t extent(IndexId i) const { return nest::extent(nest_, i); }
  // Elements of an input's memory from one point of an index to the next.
  std::int64_t stride(std::size_t input, IndexId i) const { return in_[input].coeff[i]; }
  std::optional<IndexId> fastest_output(std::optional<IndexId> excluded = std::nullopt) const;
  std::optional<IndexId> copies_beside(std::optional<IndexId> lane) const;
  bool moves_all_inputs(IndexId index) const;
  std::optional<IndexId> work_item_index() const;
  // Indices of the lanes, and of the register copies beside them.
  struct Axes {
    std::optional<IndexId> lane;
    std::optional<IndexId> pixel;
    friend bool operator==(const Axes &, const Axes &) = default;
  };
  std::vector<Axes> vector_axes() const;
  std::optional<IndexId> across_results() const;
  std::optional<IndexId> factor_index(std::size_t input, std::int64_t points) const;
  std::optional<IndexId> shared_index() const;
  bool serves_lanes(IndexId index) const;
  void take_axes(const Axes &axes);
  std::optional<IndexId> longest_output(const std::vector<std::optional<IndexId>> &beside) const;
  std::optional<IndexId> nearest_short_output() const;

  bool is_tap(IndexId reduced) const;
  bool is_pixel_tap(IndexId reduced) const;
  void avoid_shared_taps(schedule::Schedule &schedule) const;
  void unroll_window(schedule::Schedule &schedule) const;
  bool walks_far() const;
  schedule::Schedule base() const;
  std::vector<Space> with_dots() const;
  bool reads_in_place() const;
  bool is_guarded() const;
  void clip_taps(schedule::Schedule &schedule) const;
  void read_in_place(schedule::Schedule &schedule) const;
  void stage_inputs(schedule::Schedule &schedule, bool by_lane) const;
  void prefetch_packed(schedule::Schedule &schedule) const;
  bool has_constant() const;
  bool reduces_taps_only() const;
  std::vector<std::int64_t> row_copies(Form form) const;
  bool takes_rows() const { return dot_ != nullptr && has_rows(*dot_); }
  std::vector<std::pair<std::int64_t, std::int64_t>> row_choices(Form form) const;
  bool turns_results() const;
  void turn_stages(schedule::Schedule &schedule) const;
  std::vector<IndexId> window_outputs() const;
  void hold_window(schedule::Schedule &schedule, std::int64_t copies) const;
  std::vector<std::int64_t> lane_widths() const;
  std::int64_t register_need(const schedule::Schedule &schedule) const;
  void collect_register_tiles(Form form, std::int64_t lanes);
  void collect_register_tiles(Form form);
  void collect_register_tiles();
  std::int64_t most_lane_copies() const;
  void keep_best_register_tiles();
  void for_each_register_tile(const std::function<void(const Candidate &)> &visit);
  std::vector<schedule::Schedule> orders(const schedule::Schedule &schedule) const;
  void try_block_tiles(const schedule::Schedule &schedule);
  void move_innermost(schedule::Schedule &schedule, IndexId index) const;
  void try_tiles(const schedule::Schedule &schedule);
  void try_tile(const schedule::Schedule &schedule, const cost::VectorPrices &prices);
  // A sum of products: of matrices, of windows.
  bool multiplies() const { return nest_.comb == program::Comb::Mul; }
  bool has_whole_vectors(IndexId lane, std::int64_t vec) const;
  void try_wide_items();
  void try_items_over_rows(schedule::Schedule schedule, IndexId lane, std::int64_t items);
  void try_rows();
  void try_other_stores();
  bool lanes_are_apart(const schedule::Schedule &schedule) const;
  void improve(schedule::Schedule best, IndexId index, const cost::VectorPrices &prices);
  std::vector<std::int64_t> tile_choices(const schedule::Schedule &schedule,
                                         std::optional<IndexId> index) const;
  void add(schedule::Schedule schedule);
  void add_legal(schedule::Schedule schedule);
  void keep(const Candidate &candidate);
  bool can_be_kept(const schedule::Schedule &schedule);
  Candidate priced(schedule::Schedule schedule);
  Candidate priced_tile(schedule::Schedule schedule);
  void try_clusters();
  bool is_beaten(const Candidate &tile) const;
  bool beats_multiply_adds() const;
  void try_multiply_adds();
  void collect_dots();
  std::vector<Candidate> ranked(std::size_t most);
  bool keeps_few() const;
  bool is_full() const { return found_.size() >= most_; }
  void sort();

  const nest::Nest &nest_;
  const Target &target_;
  const DotOp *dot_;
  nest::Linear out_;
  std::vector<nest::Linear> in_; // by input
  std::optional<IndexId> lane_;
  std::optional<IndexId> pixel_;
  std::optional<IndexId> row_;
  std::optional<IndexId> rest_;           // the longest of the others
  std::vector<Candidate> register_tiles_; // the smallest block of each
  std::vector<Candidate> found_;
  std::size_t most_ = std::numeric_limits<std::size_t>::max(); // that found_ keeps, the best of
                                                               // all, sorted
  bool left_out_ = false;                                      // something that was priced or not
  std::vector<Candidate> tried_;                               // of the block tiles under way
  double elsewhere_ = std::numeric_limits<double>::infinity(); // seconds that others reach, of
                                                               // other dot products too
  cost::LaneCounts &counts_;
};

} // namespace tilefuse::search
