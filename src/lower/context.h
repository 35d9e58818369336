// SPDX-License-Identifier: Apache-2.0
// What the parts of build_loops share: the three inputs, the kernel under construction, and the
// current position of every index as expressions of block, loop and register variables.
#pragma once

#include <vector>

#include "kernel/build.h"
#include "nest/nest.h"
#include "schedule/mma/core.h"
#include "schedule/result_tile.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

using kernel::BufferId;
using kernel::ExprRef;
using kernel::StmtRef;
using nest::IndexId;
using Stmts = std::vector<StmtRef>;

struct Members;

using Positions = Indexed<IndexId, ExprRef>;

// Registers of a matrix unit (schedule/dots.h), those of full rows first and those of the last
// points second, and where their sums are put.
struct RowBuffers {
  BufferId sums[2] = {BufferId{-1}, BufferId{-1}};
  BufferId data[2] = {BufferId{-1}, BufferId{-1}};
  BufferId filter{-1};
  BufferId memory{-1};
};

struct Context {
  const nest::Nest &nest; // of a producer: with the extents of a tile
  const schedule::Schedule &schedule;
  const Target &target;
  kernel::Builder &build;
  const nest::Nest &whole; // the same nest with its own extents
  const Members &members;
  poly::MemberId member = poly::kAnchor;
  const schedule::Gemm *product = nullptr; // of a member that a matrix instruction computes

  Indexed<poly::SlotId, BufferId> slot_buffers; // those that are arguments
  std::vector<BufferId> source_buffers;         // by input: global, as the tensor or packed
  std::vector<BufferId> input_buffers;          // by input: what the arithmetic reads

  BufferId result{-1};      // where results go
  nest::Linear result_form; // of places
  ExprRef result_base{};    // added to it
  // With `store local` how steps lay results down, and where; null and none: they store them.
  const schedule::ResultTile *turned = nullptr;
  BufferId turned_buffer{-1};
  BufferId lane_buffer{-1}; // through which lanes of a reduced index combine, if there are any
  RowBuffers rows;          // with a dot product of rows

  // Of output indices: where a producer's tile begins in its tensor; the first point of the block's
  // tile; the offset of the current step in the tile; the first point of an edge step, else null;
  // the offset inside the step (lanes apart).
  Positions start, origin, inside, first, kept;
  Positions lane_at; // of any index: the offset of this work-item in a copy
  // Of reduced indices: the first point of the current chunk; the current point in the chunk.
  Positions chunk, value;
  ExprRef turn{}; // which of several staging buffers is used: 0, 1, …

  // Where tiles roll (schedule/rolling.h): whether this one is the first of its block; of a
  // producer, which rows of its tile are computed.
  ExprRef is_first{};
  ExprRef rows_begin{};
  ExprRef rows_end{};

  std::size_t outputs() const { return static_cast<std::size_t>(nest.output_indices); }
  bool is_vector() const { return schedule.lanes == LaneKind::Vector; }
  // The product of matrices that the member is. Requires a core instruction.
  const schedule::Gemm &gemm() const { return *product; }
  // Elements of one value: the vector's width; and of one result.
  int width() const;
  int result_width() const;
  // Work-items of a block.
  std::int64_t block_size() const;
  // The current point of an index, this work-item's when lanes are work-items.
  ExprRef point(IndexId index) const;
  // The same within the nest's extents: a tile's own for a producer.
  ExprRef place(IndexId index) const;
};

// Appends `let name = value` and gives the variable; a constant stays itself.
ExprRef named(kernel::Builder &build, Stmts &list, const std::string &name, ExprRef value);

// Declares so many registers of a work-item.
BufferId register_buffer(kernel::Builder &build, const std::string &name, kernel::Type type,
                         std::int64_t elems);

// constant + sum over indices of coefficient * position.
ExprRef linear(const Context &cx, const nest::Linear &at, const Positions &positions);

// Points as positions for linear(): point(i) of every index; and place(i).
Positions points(const Context &cx);
Positions places(const Context &cx);

// `value`, loaded from a buffer where `inside` holds (null: everywhere), with the neutral value
// elsewhere when the buffer's type is too narrow for the load to have put it there.
ExprRef filled(const Context &cx, BufferId from, ExprRef value, ExprRef inside);

// The type arithmetic on a stored type is done in: float for half types.
DType compute_type(DType type);

} // namespace tilefuse::lower
