// SPDX-License-Identifier: Apache-2.0
// Shapes of what a block holds besides registers: the staging tile of an input and the packed form of a constant. Both are
// derived from (nest, schedule), so the cost model, the legality check, the lowering and the packer cannot disagree.
#pragma once

#include <cstdint>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// One dimension of a staging tile: `range` consecutive subscripts of dimension `dim` of the operand.
struct StageDim {
  int dim = 0;
  std::int64_t range = 1;
  std::int64_t stride = 1;   // elements of the staging buffer
  std::int64_t lowest = 0;   // smallest in-tile offset of the subscript from its value at the tile's origin (<= 0)
  bool checked = false;      // subscripts of some tile can leave the tensor
};

struct StageTile {
  std::vector<StageDim> dims;  // by falling stride of the tensor: the last is walked fastest
  std::int64_t elems = 1;
};

StageTile stage_tile(const nest::Nest& nest, const Schedule& schedule, int input);

// One dimension of a packed constant: `count` values of `index`, `step` apart.
struct PackDim {
  int index = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;
};

// Dimensions outermost first. Elements whose index values leave the extent are zero.
struct PackLayout {
  std::vector<PackDim> dims;
  std::int64_t elems = 1;
};

PackLayout pack_layout(const nest::Nest& nest, const Schedule& schedule, int input);

// One argument of the kernel: a slot of the nest, or the packed form of an input.
struct KernelArg {
  int slot = -1;
  int packed_input = -1;
};

// Slots that are read or written in place, in slot order, then packed inputs.
std::vector<KernelArg> kernel_args(const nest::Nest& nest, const Schedule& schedule);

// The value a guarded input reads outside its tensor so that the point contributes nothing, if there is one.
bool has_neutral_fill(const nest::Nest& nest);
double neutral_fill(const nest::Nest& nest);

// The type that accumulators, staged tiles and packed constants are held in: the accumulator's, float for half types, i32 for
// reductions of bool.
DType held_type(const nest::Nest& nest);

// Vector (or work-item) accumulators of a register tile.
std::int64_t accumulators(const nest::Nest& nest, const Schedule& schedule);

}  // namespace tilefuse::schedule
