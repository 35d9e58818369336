// SPDX-License-Identifier: Apache-2.0
// Shapes of what a block holds besides registers: the staging tile of an input and the packed form
// of a constant. Both are derived from (nest, schedule), so the cost model, the legality check, the
// lowering and the packer cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// One dimension of a packed constant: `count` values of `index`, `step` apart.
struct PackDim {
  IndexId index{};
  std::int64_t count = 1;
  std::int64_t step = 1;
};

// Dimensions outermost first. Elements whose index values leave the extent are zero.
struct PackLayout {
  std::vector<PackDim> dims;
  std::int64_t elems = 1;
};

PackLayout pack_layout(const nest::Nest &nest, const Schedule &schedule, int input);

// An input as it lies in memory, tensor or packed: element (d0, d1, …) of one step of the outputs
// is at offset + sum of steps[i] * (first point of the step of index i) + sum of d * stride.
// Subscripts of an index with `inside` count from the first point of its step, others are absolute.
// The steps of a reduced index are groups of a dot product.
struct Source {
  std::vector<nest::Dim> dims;
  std::int64_t offset = 0;
  Indexed<IndexId, std::int64_t> steps;
  Indexed<IndexId, bool> inside;
};

Source source_of(const nest::Nest &nest, const Schedule &schedule, int input);

// One dimension of a staging tile: `range` consecutive subscripts of dimension `dim` of the source.
// A tile that is produced has room around the `box` subscripts that are read: `made` of them, a
// window moved to lie in the tensor, are computed. Along a rolled index it has no room, and rows of
// the box that leave the tensor are not computed (schedule/rolling.h).
struct StageDim {
  int dim = 0;
  std::int64_t range = 1;
  std::int64_t box = 1;    // subscripts that are read
  std::int64_t before = 0; // of the range, before the box
  std::int64_t made = 1;   // subscripts that a producer computes: no more than there are
  std::int64_t stride = 1; // elements of the staging buffer
  std::int64_t lowest =
      0; // smallest in-tile offset of the subscript from its value at the tile's origin (<= 0)
  bool checked = false; // subscripts of some tile can leave the tensor
};

struct StageTile {
  std::vector<StageDim> dims; // by falling stride of the source: the last is walked fastest
  std::int64_t elems = 1;     // of one buffer, gaps included
};

StageTile stage_tile(const nest::Nest &nest, const Schedule &schedule, int input);
// The dimension of an input that vector lanes run through neighbour by neighbour, and never leave
// at its lower end: along it the input can be staged turned. None: there is no such dimension.
std::optional<int> turned_dim(const nest::Nest &nest, const Schedule &schedule, int input);
// The same where it is known how the input lies: source_of(nest, schedule, input).
StageTile stage_tile(const nest::Nest &nest, const Schedule &schedule, int input,
                     const Source &source);

// Elements that the tile of a staged input has without gaps: the product of its ranges, of which no
// tile has to be laid out.
std::int64_t staged_points(const nest::Nest &nest, const Schedule &schedule, int input);

// Where an input lies and, if it is staged, the tile that it is read from: what copies, costs and
// accesses of a candidate all ask for.
struct InputPlace {
  Source source;
  StageTile tile;
};
// By input.
std::vector<InputPlace> input_places(const nest::Nest &nest, const Schedule &schedule);
// Elements from one buffer of an input to the next, and of all of them.
std::int64_t buffer_stride(const Schedule &schedule, int input, const StageTile &tile);
std::int64_t buffer_elems(const Schedule &schedule, int input, const StageTile &tile);
// `width` neighbours along the source's fastest dimension are neighbours in the tile, and aligned.
bool keeps_vectors(const StageTile &tile, std::int64_t width);
// Bytes of that buffer.
std::int64_t stage_bytes(const nest::Nest &nest, const Schedule &schedule, int input);
// The staging buffer of `input` holds one chunk of reduced index `index`, not all of it.
bool holds_chunk(const nest::Nest &nest, const Schedule &schedule, int input, IndexId index);

// One argument of the kernel: a slot of the group, or the packed form of an input of a member.
struct KernelArg {
  std::optional<poly::SlotId> slot = std::nullopt;
  int packed_input = -1;
  poly::MemberId member = poly::kAnchor;
  friend bool operator==(const KernelArg &, const KernelArg &) = default;
};

// Slots that are read or written in place, in slot order, then packed inputs: of a nest alone.
std::vector<KernelArg> kernel_args(const nest::Nest &nest, const Schedule &schedule);
// The slots that are `used`, by number, and behind them the packed inputs.
std::vector<KernelArg> kernel_args(const Indexed<nest::SlotId, bool> &used,
                                   const std::vector<KernelArg> &packed);

// The value a guarded input reads outside its tensor so that the point contributes nothing, if
// there is one.
bool has_neutral_fill(const nest::Nest &nest);
double neutral_fill(const nest::Nest &nest);

// The type that accumulators are held in: the accumulator's,
// float for half types, i32 for reductions of bool.
DType held_type(const nest::Nest &nest);
// The same for an input: its staged tile, its packed form, its values in registers. For a dot
// product, what that reads.
DType held_type(const nest::Nest &nest, const Schedule &schedule, int input);
// Of a packed form: that, or the slot's own type for a core instruction.
DType packed_type(const nest::Nest &nest, const Schedule &schedule, int input);

// Copies that a lane keeps of an index of which a step has so many points.
std::int64_t copies_of(const Split &split, std::int64_t points);
// Vector (or work-item) accumulators of a register tile; at most 2^40, as many as nothing holds.
std::int64_t accumulators(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
