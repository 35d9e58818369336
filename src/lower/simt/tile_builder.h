// SPDX-License-Identifier: Apache-2.0
// The innermost part of a kernel: accumulators start, reduced loops run, post-ops are applied and
// results stored, for one step of every output index. Register copies are built in
// tile_builder.cpp, the loops over reduced points in tile_builder_loops.cpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lower/context.h"
#include "schedule/dots.h"
#include "schedule/lane_reduction.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// Points of each output index that this step computes: its full step, or with vector lanes the size
// of the partial last one.
using StepSizes = Indexed<IndexId, std::int64_t>;

using LoopBody = std::function<kernel::StmtRef()>;

class TileBuilder {
public:
  TileBuilder(const Context &cx, const StepSizes &sizes);

  kernel::StmtRef build();

private:
  kernel::Type value_type() const { return {schedule::held_type(cx_.nest), cx_.width()}; }
  kernel::ExprRef acc_position() const; // of the current copy
  // Of the value of an input in all lanes.
  kernel::Type operand_type(int input) const {
    return {schedule::held_type(cx_.nest, cx_.schedule, input),
            cx_.width() * static_cast<int>(schedule::products_of_lane(cx_.schedule))};
  }

  // Unroll loops over the register copies of `indices`; the body sees cx_.kept.
  kernel::StmtRef for_copies(const std::vector<IndexId> &indices, const LoopBody &body);
  std::vector<IndexId> all_copied() const;
  std::vector<IndexId> copied_by(int input) const;
  kernel::ExprRef copy_number(const std::vector<IndexId> &indices) const;
  // Elements of a read or a store that there are.
  struct Valid {
    kernel::ExprRef exists{}; // whether there are any; null: always
    kernel::ExprRef count{};  // how many, where there are; null: all
  };
  // Of the current copy, as far as `operand` is moved by them (null: whether or not). `spread`: it
  // is a vector.
  Valid valid_parts(const nest::Operand *operand, bool spread) const;
  // The number of them, of `lanes` in all; null when all are there.
  kernel::ExprRef valid_elems(const Valid &valid, std::int64_t lanes) const;
  kernel::ExprRef valid_lanes() const;
  // Whether the current point of an index exists; null where it always does.
  kernel::ExprRef point_exists(IndexId index) const;

  void make_streams();
  kernel::StmtRef chunk();
  kernel::StmtRef reduced_loops(std::size_t level);
  kernel::StmtRef reduced_loop(IndexId index, const LoopBody &body);
  // The loop along which inputs stream: bodies with the values of later ones under way.
  kernel::StmtRef streamed_loop(IndexId index, const LoopBody &body);
  // Reads what the body that begins at point `first` of `index` uses of streamed inputs.
  kernel::StmtRef fetch(IndexId index, kernel::ExprRef first);
  // The same of one input, from loop `level` inwards.
  kernel::StmtRef fetch_input(std::size_t input, std::size_t level);
  std::vector<IndexId> body_indices() const;
  std::int64_t points_of_body(IndexId index) const;
  std::int64_t values_of_body(std::size_t input) const;
  kernel::ExprRef stream_position(std::size_t input) const;
  // The value of an input at the current point: from the registers it streams through, or memory.
  kernel::ExprRef value_of(int input) const;
  kernel::StmtRef accumulate();
  kernel::StmtRef accumulate_fragments();
  // Of dot products of rows (tile_builder_rows.cpp): registers are set to 0, what is added to them
  // at one point of the reduced indices, and their way to memory.
  kernel::StmtRef zero_rows();
  kernel::StmtRef accumulate_rows();
  kernel::StmtRef put_rows();
  // The points of the current copy's rows one by one; without rows, the body alone.
  kernel::StmtRef for_rows(const LoopBody &body);
  kernel::StmtRef accumulate_terms();
  kernel::StmtRef accumulate_one(const std::vector<kernel::ExprRef> &operands);
  kernel::StmtRef accumulate_valid(kernel::ExprRef value);
  kernel::ExprRef combined(const std::vector<kernel::ExprRef> &operands);
  kernel::StmtRef accumulate_plainly();
  kernel::ExprRef load_input(int input) const;
  // The subscript that input dim.by says: below 0 or past the end where there is none.
  kernel::ExprRef position(const nest::Dim &dim) const;
  // Elements from where the subscripts of an input that others say are 0; null: 0.
  kernel::ExprRef picked_offset(std::size_t input) const;
  // `body` where the condition holds; null: always.
  kernel::StmtRef where(kernel::ExprRef condition, kernel::StmtRef body) const {
    return condition ? b_.branch(condition, body) : body;
  }
  kernel::ExprRef predicate() const;
  // What the lanes of reduced indices accumulated, combined; those that hold it then.
  kernel::StmtRef reduce_lanes();
  kernel::StmtRef fold_vectors();
  kernel::StmtRef lane_round(const schedule::LaneRound &round);
  kernel::ExprRef lane_place() const;
  kernel::ExprRef is_first_lane() const;
  kernel::ExprRef result(int width);
  kernel::StmtRef store_results();
  kernel::StmtRef store_vectors(std::int64_t together);

  Context cx_;
  kernel::Builder &b_;
  std::optional<IndexId> vector_;
  Indexed<IndexId, std::int64_t> copies_; // of output indices
  Indexed<IndexId, bool> ragged_;         // of output indices: work-items may be past its extent
  // Of the last copy of the vector index, or of the current points of a reduced one; 0: full.
  std::int64_t partial_lanes_ = 0;
  std::optional<schedule::DotRows> rows_; // with a dot product of rows
  int of_last_ = 0;                       // 1: the rows are the last points of their index
  kernel::ExprRef tile_{};                // the current copy's registers, and their row
  kernel::ExprRef row_{};
  kernel::BufferId acc_{-1};
  std::int64_t acc_apart_ = 1;            // from one copy to the next
  std::vector<kernel::ExprRef> bases_;    // by input
  std::vector<kernel::BufferId> streams_; // by input: the registers it streams through
  kernel::ExprRef slot_{};                // which of them are read or written: 0, 1, …
  kernel::ExprRef body_point_{};          // of the index along which inputs stream
};

// What computes and stores the results of one step of every output index.
kernel::StmtRef register_tile(const Context &cx, const StepSizes &sizes);

} // namespace tilefuse::lower
