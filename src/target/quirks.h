// SPDX-License-Identifier: Apache-2.0
// What compilers of kernels do to some forms of code, by compiler and version: the one table of it.
// Search asks by name and leaves such forms alone, or writes them otherwise. A version that nobody
// tried is thought to do what one that was tried does, and so is a compiler that nobody named.
#pragma once

#include <span>
#include <string_view>

#include "target/target.h"

namespace tilefuse {

enum class Quirk {
  UnheldRoundsSpill,   // many rounds of copies, written out
  LoneGroupSpills,     // one group that multiplies beside a kept filter and groups that map
  BoxesBesideMaps,     // results in boxes, beside maps of many steps
  SwappedStreamSpills, // swapped windows beside a filter that streams, without turns
  WideGatherSpills,    // groups in turn beside warps that gather
  BoxPlacesSpill,      // places of pixels in boxes of results of three groups
  WideResidualSpills,  // groups in turn with boxes and residuals of 4 bytes
  WideAheadSpills,     // operands fetched ahead beside boxes of 4-byte results
  TurnedCopiesSpill,   // mma of two inputs that lie turned
  EarlyConversion,     // swapped tiles without a condition on their rows
};

struct CompilerVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const CompilerVersion &, const CompilerVersion &) = default;
};

struct QuirkRow {
  Quirk quirk;
  std::string_view compiler; // "NVRTC"
  CompilerVersion seen;      // the version that was tried
  std::string_view what;     // what happens, and the architecture it was seen on
  CompilerVersion gone = {}; // the first version that was seen without it; 0.0: none
};

// In the order of the enumeration.
std::span<const QuirkRow> quirks();

// Whether a compiler, "NVRTC 13.2", is a version that was seen without it, or a later one.
bool is_gone(const QuirkRow &row, std::string_view compiler);
// Whether the target's compiler has, or may have, this quirk.
bool has(const Target &target, Quirk quirk);

} // namespace tilefuse
