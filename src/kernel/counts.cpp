// SPDX-License-Identifier: Apache-2.0
#include "kernel/counts.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::kernel {
namespace {

constexpr std::array<std::string_view, kInstructionKinds> kKindNames = {
    "fma",      "float",       "special",      "integer",    "logic",
    "convert",  "load_global", "store_global", "load_local", "store_local",
    "ldmatrix", "mma",         "async_copy",   "barrier",    "branch"};

constexpr std::array<std::string_view, 5> kAccessNames = {"load", "store", "async_read",
                                                          "async_write", "ldmatrix"};

void add(PhaseCounts &to, const PhaseCounts &from) {
  to.phases += from.phases;
  to.wavefronts += from.wavefronts;
}

std::string buffer_line(const Counts &counts, const BufferCounts &buffer) {
  const bool is_global = buffer.space == Space::Global;
  std::string line = fmt::format("{} {}: loads {} stores {} loaded_bytes {} stored_bytes {}",
                                 is_global ? "global" : "local", buffer.name, buffer.loads,
                                 buffer.stores, buffer.loaded_bytes, buffer.stored_bytes);
  if (is_global)
    line += fmt::format(" sectors {} needed {} block_bytes {} grid_bytes {}", buffer.sectors,
                        buffer.sectors_needed, buffer.block_sector_bytes, buffer.grid_sector_bytes);
  else if (const PhaseCounts phases = counts.phases(buffer.name); phases.phases > 0)
    line += fmt::format(" wavefronts {} conflicts {}", phases.wavefronts, phases.conflicts());
  return line;
}

std::string access_line(const AccessCounts &access) {
  std::string line =
      fmt::format("{} {}: executed {} requests {} bytes {}", kAccessNames[at(access.kind)],
                  access.text, access.executed, access.requests, access.bytes);
  if (access.sectors > 0)
    line += fmt::format(" sectors {} needed {}", access.sectors, access.sectors_needed);
  if (access.phases.empty())
    return line;
  line += fmt::format(" wavefronts {} conflicts {}", access.all_phases().wavefronts,
                      access.all_phases().conflicts());
  if (access.phases.size() > 1 && access.all_phases().conflicts() > 0) {
    std::string by_phase;
    for (const PhaseCounts &phase : access.phases)
      by_phase += fmt::format("{}{}", by_phase.empty() ? "" : " ", phase.conflicts());
    line += fmt::format(" by_phase [{}]", by_phase);
  }
  return line;
}

} // namespace

std::string_view to_string(InstructionKind kind) { return kKindNames[at(kind)]; }

PhaseCounts AccessCounts::all_phases() const {
  PhaseCounts all;
  for (const PhaseCounts &phase : phases)
    add(all, phase);
  return all;
}

const BufferCounts &Counts::buffer(std::string_view name) const {
  const auto found = std::find_if(buffers.begin(), buffers.end(),
                                  [&](const BufferCounts &of) { return of.name == name; });
  TILEFUSE_CHECK(found != buffers.end(), "counts of a buffer that is not there");
  return *found;
}

PhaseCounts Counts::phases(std::string_view name) const {
  const BufferId id = buffer(name).id;
  PhaseCounts all;
  for (const AccessCounts &access : accesses)
    if (access.buffer == id)
      add(all, access.all_phases());
  return all;
}

std::string to_text(const Counts &counts) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "blocks {} warps {} barriers {} local_bytes {} live_registers {}\n",
                 counts.blocks, counts.warps, counts.barriers, counts.local_bytes,
                 counts.live_registers);
  for (std::size_t i = 0; i < kInstructionKinds; ++i) {
    const InstructionCounts &of = counts.instructions[i];
    if (of.executed > 0)
      fmt::format_to(out, "instructions {}: executed {} lanes {}\n", kKindNames[i], of.executed,
                     of.lanes);
  }
  for (const BufferCounts &buffer : counts.buffers)
    fmt::format_to(out, "{}\n", buffer_line(counts, buffer));
  for (const AccessCounts &access : counts.accesses)
    if (access.executed > 0)
      fmt::format_to(out, "{}\n", access_line(access));
  return text;
}

} // namespace tilefuse::kernel
