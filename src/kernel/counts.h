// SPDX-License-Identifier: Apache-2.0
// What a simulated kernel spent, in total and per access of each statement. Everything is counted
// by what a warp does at once:
//
//   - an access of up to 16 bytes per work-item is one request; wider vectors are several, and
//     strided, partly valid or unaligned ones go element by element;
//   - a request to Local memory takes phases: with 32 banks of 4 bytes a phase is a warp's 32
//     accesses of up to 4 bytes, 16 of 8 or 8 of 16 bytes, or one 8 x 16-byte tile of ldmatrix
//     or of an operand of wgmma. A phase takes as many wavefronts as the most words of one bank
//     that it touches (equal words are broadcast), so wavefronts - phases are the conflicts;
//   - a request to Global memory asks for the sectors that it touches; it needs as many as its
//     distinct bytes would fill.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel {

enum class AccessKind { Load, Store, AsyncRead, AsyncWrite, LoadMatrix };

struct PhaseCounts {
  std::int64_t phases = 0; // in which anything was accessed
  std::int64_t wavefronts = 0;
  std::int64_t conflicts() const { return wavefronts - phases; }
  friend bool operator==(const PhaseCounts &, const PhaseCounts &) = default;
};

// One access of one statement, over all blocks that ran.
struct AccessCounts {
  std::string statement; // its first line
  std::string text;      // the access: "s0[lane * 33]"
  BufferId buffer{};
  AccessKind kind{};
  std::int64_t executed = 0; // times a warp came by
  std::int64_t requests = 0;
  std::int64_t elements = 0; // of all work-items
  std::int64_t bytes = 0;
  std::vector<PhaseCounts> phases; // Local: by number of the phase within an execution
  std::int64_t sectors = 0;        // Global
  std::int64_t sectors_needed = 0;

  PhaseCounts all_phases() const;
};

// One Global or Local buffer.
struct BufferCounts {
  BufferId id{};
  std::string name;
  Space space{};
  std::int64_t loads = 0;  // elements, of all work-items
  std::int64_t stores = 0; // elements
  std::int64_t loaded_bytes = 0;
  std::int64_t stored_bytes = 0;
  std::int64_t sectors = 0;            // Global: requested
  std::int64_t sectors_needed = 0;     // Global: distinct bytes of each request in whole sectors
  std::int64_t block_sector_bytes = 0; // Global: distinct sectors of each block, summed
  std::int64_t grid_sector_bytes = 0;  // Global: distinct sectors of all blocks
};

enum class InstructionKind {
  Fma,
  FloatArithmetic, // + - * / min max neg abs of floats
  SpecialFunction, // exp, sqrt, … of floats
  Integer,         // arithmetic of whole numbers
  Logic,           // comparisons, selections, and, or, not
  Convert,         // casts
  LoadGlobal,
  StoreGlobal,
  LoadLocal,
  StoreLocal,
  LoadMatrix,
  Mma,
  AsyncCopy,
  Barrier,
  Branch, // tests of loops and conditions
};
constexpr std::size_t kInstructionKinds = 15;
std::string_view to_string(InstructionKind kind); // "load_local"

struct InstructionCounts {
  std::int64_t executed = 0; // by warps
  std::int64_t lanes = 0;    // by work-items, times the lanes of their values
};

struct Counts {
  std::int64_t blocks = 0;   // that ran
  std::int64_t warps = 0;    // of all of them
  std::int64_t barriers = 0; // completed, of all of them
  std::array<InstructionCounts, kInstructionKinds> instructions{};
  std::vector<BufferCounts> buffers;  // Global and Local, in the kernel's order
  std::vector<AccessCounts> accesses; // in the order of the kernel's text
  std::int64_t local_bytes = 0;       // of a block
  std::int64_t live_registers = 0;    // most 32-bit registers of a work-item alive at once

  const InstructionCounts &of(InstructionKind kind) const { return instructions[at(kind)]; }
  // Of that name; aborts where there is none.
  const BufferCounts &buffer(std::string_view name) const;
  // All accesses of a Local buffer.
  PhaseCounts phases(std::string_view buffer) const;
};

// Totals, a line per buffer, then a line per access that ran.
std::string to_text(const Counts &counts);

} // namespace tilefuse::kernel
