// SPDX-License-Identifier: Apache-2.0
// The `schedule` level: where and when each point of a group's anchor nest runs, as a value.
//
//   schedule cpu_nest vector             schedule igemm workitem
//     tile   n:1 y:4 x:56 m:64             tile   n:1 y:2 x:56 m:128 c:8
//     lane   m:8                           lane   y:2 x:8 m:16
//     keep   x:6 m:2                       vec    m:4
//     loop   m y x c r s                   keep   x:7 m:2 c:8
//     stage  0                             loop   n y x m c r s
//     pack   1                             stage  0 at c turned twice
//                                          pack   1
//                                          stage  1 at c twice
//
// An output index of extent E is split, outermost first, into
//   grid   ceil(E / tile) blocks,
//   loop   ceil(tile / (keep * lane * vec)) serial steps inside a block,
//   keep   register copies,
//   lane   neighbours: elements of a vector, or work-items of a group, and
//   vec    neighbours that one work-item computes as a vector (work-items only, one index).
// With `near x` the copies of x stand inside its lanes, so that a work-item's copies are neighbours
// and its reads of them can be vectors.
// Lanes that are vector elements belong to one index; work-items may be dealt over several, and
// several times over one (`lane y:2 m:4 x:8 m:4`): parts are written slowest first, and a part
// further right is a lower digit of its index. A tile is a multiple of a step = keep * lane * vec,
// so the only partial step of an index is its last one. With vector lanes its size is known when
// the kernel is built; work-items past the edge compute and do not store.
//
// A reduced index is looped in the order given and unrolled `keep` times. With tile < extent it is
// walked in chunks: all chunk loops, in loop order, stand outside all loops over the points of a
// chunk. A tile divides the extent unless every input is staged and padded.
//
// A tile of an input reaches the arithmetic directly from memory, or through a `local` staging
// buffer filled by a copy (which also pads virtual padded tensors). Either way it may lie in memory
// as a constant that was `pack`ed at load time into the order the loops read it. `produce` fills
// the buffer of an input by running the nest that computes it; the rest holds for both. `stage`
// fills the buffer once per block, before all loops; `stage K at c` in each chunk of c, then for
// one step of the outputs; `twice` with two buffers, of which one is read while the next chunk is
// fetched into registers; `ring 3` with three, which asynchronous copies fill two chunks ahead.
//
// Work-items copy as `width 4` says, four elements at a time, and in a loop of rounds, unless these
// are written out (`unroll`, and always with `twice`), or also have their offsets in registers
// (`hold`):
//
//     stage  0 at c turned twice width 4 hold
//
// `prefetch 1` fetches, while a step is computed, lines of what the next step of the lanes reads of
// input 1, which is packed and read in place; every step over other indices takes a further part.
// `stream 1 registers 3` reads input 1 into registers two bodies of the innermost loop ahead of its
// use (schedule/streams.h).
//
// With `roll y:7` a block computes seven tiles along y, one behind the other, and keeps the rows of
// produced inputs that the next tile reads too (schedule/rolling.h).
//
// Subscripts that may leave a tensor read in place are tested at each read, unless the schedule
// settles the test (schedule/guards.h): `clip r` bounds a loop of reduced r to the taps inside,
// `edge x` gives the steps at the ends of x bodies of their own.
//
//   schedule mma workitem
//     tile   n:1 y:1 x:1 m:128 c:64
//     vec    m:8
//     core   m16n8k16.f16.f32 rows 128 warps 2 2 ring 4
//     loop   n y x m r s c
//     pack   1
//
// With `core` the arithmetic is done by a matrix instruction: see schedule/mma/core.h, and for
// those of four warps schedule/wgmma/wgmma.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "target/core_ops.h"
#include "target/target.h"

namespace tilefuse::schedule {

using nest::IndexId;

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

// How a staged tile lies in local memory. Plain: as in the tensor, without gaps. Turned: reduced
// dimensions outermost and the fastest lanes innermost, rows aligned for vectors and set apart so
// that neighbouring rows lie in other banks. Odd: PlaidML's, dimensions of odd range innermost and
// every stride odd.
enum class Layout { Plain, Turned, Odd };

// How the rounds are written in which the work-items of a block copy a tile. Unrolled: one behind
// the other, so that their loads are in flight together. Held: the same, and registers hold what of
// their addresses does not depend on where the tile begins.
enum class Rounds { Loop, Unrolled, Held };

// Of an input that is staged; `stream` of any, `prefetch` of a packed one.
struct Stage {
  // The chunked index in whose chunk loop the buffer is filled; none: once per block.
  std::optional<IndexId> at = std::nullopt;
  bool twice = false;
  Layout layout = Layout::Plain;
  int ring = 0;   // buffers that asynchronous copies fill; 0: work-items copy
  int stream = 0; // bodies of the innermost loop that registers hold (schedule/streams.h); 0: none
  bool prefetch = false; // lines of the next step of the lanes are fetched
  int width = 1;         // elements that a work-item copies at once (schedule/stage_copy.h)
  Rounds rounds = Rounds::Loop;
  int buffers() const { return ring > 0 ? ring : (twice ? 2 : 1); }
  // Nothing says how work-items copy.
  bool copies_plainly() const { return width == 1 && rounds == Rounds::Loop; }
  // Later chunks are fetched while one is read.
  bool is_ahead() const { return twice || ring > 0; }
  friend bool operator==(const Stage &, const Stage &) = default;
};

// Which tiles of matrix instructions change fastest from one number of a tile to the next: columns,
// so that blocks that run together read the same data, or rows, so that they read the same filter.
enum class Raster { Columns, Rows };

// A tile of matrix instructions: `rows` points of the pixel indices taken as one number, times the
// tile of the channel index, by warps in a grid. Tiles of both inputs pass through a ring of local
// buffers that asynchronous copies fill.
struct Core {
  const CoreOp *op = nullptr; // null: no matrix instruction
  std::int64_t rows = 0;
  std::int64_t warp_rows = 1;
  std::int64_t warp_columns = 1;
  int ring = 2;              // buffers of each input
  std::int64_t blocks = 0;   // that share the tiles, by turns; 0: a block for each
  int turns = 1;             // wgmma: groups of warps of a block that take tiles in turn
  bool swapped = false;      // wgmma: the instruction's rows are channels, its columns points
  bool tensor_store = false; // wgmma: results leave in boxes (schedule/wgmma/wgmma.h)
  int ahead = 0;  // wgmma: buffers of tiles that post-ops read in local memory (wgmma_ahead.h)
  int window = 0; // wgmma: buffers of windows of data, each of which serves all taps; 0: none do
  bool keeps_filter = false; // wgmma: the ring holds all steps of the filter, copied once
  // wgmma: blocks of a cluster, which take neighbouring tiles: so many of rows, by so many of
  // columns; or which take parts of the steps of one tile
  std::int64_t cluster_rows = 1;
  std::int64_t cluster_columns = 1;
  std::int64_t cluster_parts = 1;
  std::int64_t cluster() const { return cluster_rows * cluster_columns * cluster_parts; }
  int mappers = 0;      // wgmma: groups of warps that evaluate maps in the ring (core_feeds.h)
  bool gathers = false; // wgmma: warps, and no tensor copies, bring the data
  bool early = false;   // wgmma: a filter known at load time is copied before earlier kernels end
  // wgmma: copies that warps which gather begin before they wait for one; of warps that copy
  // windows and map them, the windows copied before the next one is mapped
  int lead = 0;
  bool blends = false;     // wgmma: padding of what is mapped is set to 0, not left out by a branch
  bool tests_rows = false; // wgmma: stores ask whether a row is in the result, also where all are
  // wgmma: registers of a work-item that copies, multiplies, maps; 0: as the launch gives them
  int copy_registers = 0;
  int math_registers = 0;
  int map_registers = 0;
  Raster raster = Raster::Columns;
  bool k_inner = false; // wgmma: a step's instructions of a block of 64 rows follow each other, and
                        // do not alternate with those of other blocks
  friend bool operator==(const Core &, const Core &) = default;
};

struct Schedule {
  std::string name;
  LaneKind lanes = LaneKind::Vector;
  Indexed<IndexId, Split> splits;   // of the anchor
  std::vector<LanePart> lane_parts; // slowest first; empty while at most one index has lanes
  std::vector<IndexId> order;       // loops, outermost first: output indices, then reduced ones
  std::vector<Fill> fills;          // by input of the anchor
  std::vector<Stage> stages;        // by input of the anchor
  Core core;
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
