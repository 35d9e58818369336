// SPDX-License-Identifier: Apache-2.0
// What the parts of build_loops share: the three inputs, the kernel under construction, and the
// current position of every index as expressions of block, loop and register variables.
#pragma once

#include <vector>

#include "kernel/build.h"
#include "nest/nest.h"
#include "schedule/mma/core.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

struct Members;

struct Context {
  const nest::Nest &nest; // of a producer: with the extents of a tile
  const schedule::Schedule &schedule;
  const Target &target;
  kernel::Builder &build;
  const nest::Nest &whole; // the same nest with its own extents
  const Members &members;
  poly::MemberId member = poly::kAnchor;
  const schedule::Gemm *product = nullptr; // of a member that a matrix instruction computes

  Indexed<poly::SlotId, kernel::BufferId> slot_buffers; // those that are arguments
  std::vector<kernel::BufferId> source_buffers;         // by input: global, as the tensor or packed
  std::vector<kernel::BufferId> input_buffers;          // by input: what the arithmetic reads

  kernel::BufferId result{-1};   // where results go
  nest::Linear result_form;      // of places
  kernel::ExprRef result_base{}; // added to it

  std::vector<kernel::ExprRef> start;  // output index: where a producer's tile begins in its tensor
  std::vector<kernel::ExprRef> origin; // output index: first point of the block's tile
  std::vector<kernel::ExprRef> inside; // output index: offset of the current step in the tile
  std::vector<kernel::ExprRef> first;  // output index: first point of an edge step, else null
  std::vector<kernel::ExprRef> kept;   // output index: offset inside the step (lanes apart)
  std::vector<kernel::ExprRef> lane_at; // output index: offset of this work-item in a copy
  std::vector<kernel::ExprRef> chunk;   // reduced index: first point of the current chunk
  std::vector<kernel::ExprRef> value;   // reduced index: current point in the chunk
  kernel::ExprRef turn{};               // which of several staging buffers is used: 0, 1, …

  // Where tiles roll (schedule/rolling.h): whether this one is the first of its block; of a
  // producer, which rows of its tile are computed.
  kernel::ExprRef is_first{};
  kernel::ExprRef rows_begin{};
  kernel::ExprRef rows_end{};

  std::size_t outputs() const { return static_cast<std::size_t>(nest.output_indices); }
  bool is_vector() const { return schedule.lanes == LaneKind::Vector; }
  // The product of matrices that the member is. Requires a core instruction.
  const schedule::Gemm &gemm() const { return *product; }
  // Elements of one value: the vector's width.
  int width() const;
  // Work-items of a block.
  std::int64_t block_size() const;
  // The current point of an index, this work-item's when lanes are work-items.
  kernel::ExprRef point(std::size_t index) const;
  // The same within the nest's extents: a tile's own for a producer.
  kernel::ExprRef place(std::size_t index) const;
};

// Appends `let name = value` and gives the variable; a constant stays itself.
kernel::ExprRef named(kernel::Builder &build, std::vector<kernel::StmtRef> &list,
                      const std::string &name, kernel::ExprRef value);

// constant + sum over indices of coefficient * position.
kernel::ExprRef linear(const Context &cx, const nest::Linear &at,
                       const std::vector<kernel::ExprRef> &positions);

// Points as positions for linear(): point(i) of every index; and place(i).
std::vector<kernel::ExprRef> points(const Context &cx);
std::vector<kernel::ExprRef> places(const Context &cx);

// `value`, loaded from a buffer where `inside` holds (null: everywhere), with the neutral value
// elsewhere when the buffer's type is too narrow for the load to have put it there.
kernel::ExprRef filled(const Context &cx, kernel::BufferId from, kernel::ExprRef value,
                       kernel::ExprRef inside);

// The type arithmetic on a stored type is done in: float for half types.
DType compute_type(DType type);

} // namespace tilefuse::lower
