// SPDX-License-Identifier: Apache-2.0
// The `schedule` level: where and when each point of a group's anchor nest runs, as a value.
//
//   schedule cpu_nest vector             schedule igemm workitem
//     tile   n:1 y:4 x:56 m:64             tile   n:1 y:2 x:56 m:128 c:8
//     lane   m:8                           lane   y:2 x:8 m:16
//     reg    x:6 m:2                       vec    m:4
//     loop   m y x c r s                   reg    x:7 m:2 c:8
//     stage  0                             loop   n y x m c r s
//     pack   1                             stage  0 at c transposed stages 2
//                                          pack   1
//                                          stage  1 at c stages 2
//
// An output index of extent E is split, outermost first, into
//   grid   ceil(E / tile) blocks,
//   loop   ceil(tile / (reg * lane * vec)) serial steps inside a block,
//   reg    register copies,
//   lane   neighbours: elements of a vector, or work-items of a group, and
//   vec    neighbours that one work-item computes as a vector (work-items only, one index), or, of
//          a reduced index, whose products a lane adds at once.
// With `blocked x` the copies of x stand inside its lanes, so that a work-item's copies are neighbours
// and its reads of them can be vectors.
// Lanes that are vector elements belong to one index; work-items may be dealt over several, and
// several times over one (`lane y:2 m:4 x:8 m:4`): parts are written slowest first, and a part
// further right is a lower digit of its index. A tile is a multiple of a step = reg * lane * vec,
// so the only partial step of an index is its last one. With vector lanes its size is known when
// the kernel is built; work-items past the edge compute and do not store.
//
// A reduced index is looped in the order given and unrolled `reg` times. With tile < extent it is
// walked in chunks: all chunk loops, in loop order, stand outside all loops over the points of a
// chunk. A tile divides the extent unless every input is staged and padded.
//
// A tile of an input reaches the arithmetic directly from memory, or through a `local` staging
// buffer filled by a copy (which also pads virtual padded tensors). Either way it may lie in memory
// as a constant that was `pack`ed at load time into the order the loops read it. `produce` fills
// the buffer of an input by running the nest that computes it; the rest holds for both. `stage`
// fills the buffer once per block, before all loops; `stage K at c` in each chunk of c, then for
// one step of the outputs; `stages 2` with two buffers, of which one is read while the next chunk
// is fetched into registers; `cp_async stages 3` with three, which asynchronous copies fill two
// chunks ahead.
//
// Work-items copy as `width 4` says, four elements at a time, and in a loop of rounds, unless these
// are written out (`unroll`, and always with `stages 2`), or also have their offsets in registers
// (`hold`):
//
//     stage  0 at c transposed stages 2 width 4 hold
//
// `prefetch 1` fetches, while a step is computed, lines of what the next step of the lanes reads of
// input 1, which is packed and read in place; every step over other indices takes a further part.
// `pipeline 1 registers 3` reads input 1 into registers two bodies of the innermost loop ahead of
// its use (schedule/streams.h).
//
// With `slide y:7` a block computes seven tiles along y, one behind the other, and keeps the rows of
// produced inputs that the next tile reads too (schedule/rolling.h).
//
// Subscripts that may leave a tensor read in place are tested at each read, unless the schedule
// settles the test (schedule/guards.h): `trim r` bounds a loop of reduced r to the taps inside,
// `peel x` gives the steps at the ends of x bodies of their own.
//
// Results leave registers straight to memory, or with `store local` through a local buffer in which
// they lie along the lanes, and from there in runs along the result (schedule/result_tile.h): then
// lanes need not be neighbours in the result.
//
//   schedule mma workitem
//     tile   n:1 y:1 x:1 m:128 c:64
//     vec    m:8
//     mma    m16n8k16.f16.f32 m 128 warps 2 2
//     loop   n y x m r s c
//     pipe   0 cp_async stages 4
//     pack   1
//     pipe   1 cp_async stages 4
//
// With `mma` the arithmetic is done by a matrix instruction: see schedule/mma/core.h; with `wgmma`
// by one of a warpgroup: schedule/mma/core.h. What each line may say stands in schedule/pipe.h
// (`pipe`, `store`) and below (`role`, `order`).
//
// With `dot` each lane of a vector adds several products at once, of neighbours of the reduced
// index that has `vec`: see schedule/dots.h.
//
//   schedule dots vector
//     tile   n:1 y:4 x:56 m:64
//     lane   m:16
//     vec    c:2
//     reg    x:6 m:2
//     dot    dot2.s16.s16.s32
//     loop   m y x r s c
//     pack   1
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/pipe.h"
#include "target/core_ops.h"
#include "target/dot_ops.h"
#include "target/target.h"

namespace tilefuse::schedule {

struct Split {
  std::int64_t tile = 1; // points per block, or of a chunk of a reduced index
  std::int64_t keep = 1;
  std::int64_t lane = 1;
  std::int64_t vec = 1;
  std::int64_t roll = 0; // an output index: tiles that a block takes one behind the other, keeping
                         // rows; of a producer 1: its rows are kept; 0: nothing is kept
  bool clip = false;     // a reduced index: only taps inside are looped over
  bool edge = false;     // an output index: steps at its ends have bodies of their own
  bool near = false;     // an output index: a work-item's copies are neighbours
  // Points from one register copy to the next, and from one work-item to the next.
  std::int64_t copy_stride() const { return near ? vec : lane * vec; }
  std::int64_t lane_stride() const { return near ? keep * vec : vec; }
  // Points of one step, and of one block.
  std::int64_t step() const { return keep * lane * vec; }
  std::int64_t of_block() const { return roll > 1 ? tile * roll : tile; }
  friend bool operator==(const Split &, const Split &) = default;
};

// A digit of a work-item's number: `count` neighbours of `index`.
struct LanePart {
  IndexId index{};
  std::int64_t count = 1;
  friend bool operator==(const LanePart &, const LanePart &) = default;
};

// PackedLocal: packed at load time, then staged. Produced: staged, and filled by the nest of the
// group that computes the tensor, under a schedule of its own (schedule/members.h).
enum class Fill { Direct, Local, Packed, PackedLocal, Produced };

// Which tiles of matrix instructions change fastest from one number of a tile to the next: columns,
// so that blocks that run together read the same data, or rows, so that they read the same filter.
enum class Raster { Columns, Rows };

// A tile of matrix instructions: `rows` points of the pixel indices taken as one number, times the
// tile of the channel index, by warps in a grid (by warpgroups of four with wgmma).
struct Core {
  const CoreOp *op = nullptr; // null: no matrix instruction
  std::int64_t rows = 0;
  std::int64_t warp_rows = 1;
  std::int64_t warp_columns = 1;
  bool swap_ab = false; // wgmma: the instruction's rows are channels, its columns points
  bool k_inner = false; // wgmma: a step's instructions of a block of 64 rows follow each other, and
                        // do not alternate with those of other blocks
  friend bool operator==(const Core &, const Core &) = default;
};

// What the warps of a block with wgmma do besides their share of the tile. Registers are those of a
// work-item; 0: as the launch gives them.
struct LoadRole {
  int registers = 0;
  bool early = false; // a filter known at load time is copied before earlier kernels end
  // Copies that warps which load begin before they wait for one; of warps that copy windows and
  // map them, the windows copied before the next one is mapped.
  int lead = 0;
  friend bool operator==(const LoadRole &, const LoadRole &) = default;
};
struct TransformRole {
  int groups = 0; // warpgroups that evaluate maps in pipes (core_feeds.h); 0: those that load do
  int registers = 0;
  bool selects = false; // padding of what is mapped is set to 0, not left out by a branch
  friend bool operator==(const TransformRole &, const TransformRole &) = default;
};
struct MathRole {
  int instances = 1; // groups that take tiles in turn: with 2 one multiplies, the other stores
  int registers = 0;
  bool tests_rows = false; // stores ask whether a row is in the result, also where all are
  friend bool operator==(const MathRole &, const MathRole &) = default;
};
struct WarpRoles {
  LoadRole load;
  TransformRole transform;
  MathRole math;
  friend bool operator==(const WarpRoles &, const WarpRoles &) = default;
};

// Which block computes which tiles of matrix instructions, and when. Blocks of a cluster take
// neighbouring tiles, `cluster_m` of rows by `cluster_n` of columns, or `split_k` parts of the
// steps of one tile.
struct TileOrder {
  std::int64_t persistent = 0; // blocks that share all tiles; 0: a block for each
  std::int64_t cluster_m = 1;
  std::int64_t cluster_n = 1;
  std::int64_t split_k = 1;
  Raster raster = Raster::Columns;
  std::int64_t cluster() const { return cluster_m * cluster_n * split_k; }
  friend bool operator==(const TileOrder &, const TileOrder &) = default;
};

struct Schedule {
  std::string name;
  LaneKind lanes = LaneKind::Vector;
  Indexed<IndexId, Split> splits;   // of the anchor
  std::vector<LanePart> lane_parts; // slowest first; empty while at most one index has lanes
  std::vector<IndexId> order;       // loops, outermost first: output indices, then reduced ones
  std::vector<Fill> fills;          // by input of the anchor
  std::vector<Pipe> pipes;          // by input of the anchor
  Pipe extra = {.stages = 0};       // of what post-ops read
  Store store = Store::Direct;
  Core core;
  WarpRoles roles = {};
  TileOrder tiles = {};
  const DotOp *dot = nullptr;           // null: products are added one by one
  std::vector<Schedule> producers = {}; // by producer of the group; unused for pointwise maps

  friend bool operator==(const Schedule &, const Schedule &) = default;
};

// The first index that has lanes, if any.
std::optional<IndexId> lane_index(const Schedule &schedule);
// The index whose neighbours are elements of a vector, if any; and how many they are.
std::optional<IndexId> vector_index(const Schedule &schedule);
std::int64_t vector_width(const Schedule &schedule);
// Work-items of a block: 1 when lanes are vector elements.
std::int64_t group_size(const Schedule &schedule);
// The digits of a work-item's number, slowest first, also where one index has all lanes.
std::vector<LanePart> lane_digits(const Schedule &schedule);

inline bool has_core(const Schedule &schedule) { return schedule.core.op != nullptr; }
inline bool is_packed(Fill fill) { return fill == Fill::Packed || fill == Fill::PackedLocal; }
inline bool is_staged(Fill fill) {
  return fill == Fill::Local || fill == Fill::PackedLocal || fill == Fill::Produced;
}

// Whether both have the same matrix instruction, pipes, roles and order of tiles.
bool multiply_alike(const Schedule &a, const Schedule &b);
// Stages of the pipe whose buffers hold windows; 0: none does.
int halo_stages(const Schedule &schedule);
// Stages of the other pipes of a matrix instruction's inputs, which are filled together.
int step_stages(const Schedule &schedule);
void set_step_stages(Schedule &schedule, int stages);
// Whether an input of a matrix instruction is copied once, with all its steps.
bool has_resident(const Schedule &schedule);
// Whether groups that take tiles in turn multiply one behind the other; beside a resident filter at once.
bool multiplies_in_turn(const Schedule &schedule);
// Whether warps bring an input of wgmma by asynchronous copies.
bool has_loading_warps(const Schedule &schedule);

// Whether work-items copy the tile of an input from memory, or map it as they do.
bool is_copied_by_items(const Schedule &schedule, int input);

// Reduced indices that are walked in chunks, in loop order.
std::vector<IndexId> chunked_indices(const nest::Nest &nest, const Schedule &schedule);
// Points of one step as they are computed: with work-items, copies past the extent are dropped.
std::int64_t points_of_step(const nest::Nest &nest, const Schedule &schedule, IndexId index);

// One point at a time, no lanes, everything direct: legal for every nest, slow, the last resort.
Schedule scalar_schedule(const nest::Nest &nest);

// The schedule of a member: of the group's for the anchor.
const Schedule &member_schedule(const Schedule &schedule, poly::MemberId member);
Schedule &member_schedule(Schedule &schedule, poly::MemberId member);

} // namespace tilefuse::schedule
