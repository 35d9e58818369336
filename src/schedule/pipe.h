// SPDX-License-Identifier: Apache-2.0
// A pipe: how the tiles of one operand travel between memory and the arithmetic. Each input of a
// nest has one, so have the operands of its post-ops together; the result has a `Store`.
//
//   stage  0 at c transposed stages 2 width 4     work-items copy, two buffers
//   stage  1 at c cp_async stages 3               asynchronous copies, three
//   pipe   0 halo tma stages 3                    windows of all taps, by tensor copies
//   pipe   1 step_halo tma stages 4               a step's rows, and those its taps read beside
//   pipe   1 resident tma                         the whole filter, copied once
//   pipe   extra tma stages 4 epi_n 32            what post-ops read, before it is needed
//
// `stage` is a pipe of the nests that work-items or vectors compute (schedule.h), `pipe` one of a
// matrix instruction (mma/core.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/words.h"
#include "nest/nest.h"

namespace tilefuse::schedule {

using nest::IndexId;

// What a buffer of a pipe holds. Step: the operand's tile of one step of the reduction. Halo: all
// points that any tap of the tile reads, for one step of the depth. StepHalo: the tile of one step and
// the rows beside it that neighbouring taps read. Resident: all steps of the operand, copied once.
enum class Footprint { Step, Halo, StepHalo, Resident };

// What copies. Items: work-items load and store, element by element or vector by vector. CpAsync:
// asynchronous copies of 4 to 16 bytes. Tma: tensor copies of whole boxes.
enum class Engine { Items, CpAsync, Tma };

// How a staged tile lies in local memory. Plain: as in the tensor, without gaps. Transposed:
// reduced dimensions outermost and the fastest lanes innermost, rows aligned for vectors and set
// apart so that neighbouring rows lie in other banks; with vector lanes these innermost, in whole
// vectors. Odd: PlaidML's, dimensions of odd range innermost and every stride odd. Matrix
// instructions have a layout of their own (mma/core.h).
enum class Layout { Plain, Transposed, Odd };

// How the rounds are written in which the work-items of a block copy a tile. Unrolled: one behind
// the other, so that their loads are in flight together. Held: the same, and registers hold what of
// their addresses does not depend on where the tile begins.
enum class Rounds { Loop, Unrolled, Held };

struct Pipe {
  Footprint footprint = Footprint::Step;
  Engine engine = Engine::Items;
  int stages = 1; // buffers; of what post-ops read: 0 where it is read in place
  // Of what post-ops read: columns of a buffer's epilogue tile (wgmma/wgmma_panels.h); 0: all.
  std::int64_t epi_n = 0;
  Layout layout = Layout::Plain;
  // The chunked index in whose chunk loop the buffer is filled; none: once per block.
  std::optional<IndexId> at = std::nullopt;
  int width = 1; // elements that a work-item copies at once (schedule/stage_copy.h)
  Rounds rounds = Rounds::Loop;
  int stream = 0; // bodies of the innermost loop that registers hold (schedule/streams.h); 0: none
  bool prefetch = false; // lines of the next step of the lanes are fetched
  // Nothing says how work-items copy.
  bool copies_plainly() const { return width == 1 && rounds == Rounds::Loop; }
  bool is_async() const { return engine != Engine::Items; }
  // Registers hold the next chunk while one is read.
  bool is_double_buffered() const { return !is_async() && stages > 1; }
  // Later chunks are fetched while one is read.
  bool is_ahead() const { return stages > 1; }
  friend bool operator==(const Pipe &, const Pipe &) = default;
};

// How results leave. Direct: from registers to where they lie. Local: they are turned in a local
// buffer (schedule/result_tile.h). Tma: in boxes of local memory, by tensor copies, while the next
// tile is computed.
enum class Store { Direct, Local, Tma };

// The words of a schedule's text for these.
inline constexpr auto kFootprints = words<Footprint>({{Footprint::Step, "step"},
                                                      {Footprint::Halo, "halo"},
                                                      {Footprint::StepHalo, "step_halo"},
                                                      {Footprint::Resident, "resident"}});
inline constexpr auto kEngines =
    words<Engine>({{Engine::Items, "items"}, {Engine::CpAsync, "cp_async"}, {Engine::Tma, "tma"}});
inline constexpr auto kLayouts = words<Layout>(
    {{Layout::Plain, "plain"}, {Layout::Transposed, "transposed"}, {Layout::Odd, "odd"}});
inline constexpr auto kRounds =
    words<Rounds>({{Rounds::Loop, ""}, {Rounds::Unrolled, "unroll"}, {Rounds::Held, "hold"}});
inline constexpr auto kStores =
    words<Store>({{Store::Direct, "direct"}, {Store::Local, "local"}, {Store::Tma, "tma"}});

} // namespace tilefuse::schedule
