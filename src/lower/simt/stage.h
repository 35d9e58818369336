// SPDX-License-Identifier: Apache-2.0
// Filling staging buffers: the statements that copy one tile of an input, with its padding, for the
// current position of block, step and chunk.
//
// A block of one work-item copies row by row. Work-items copy together, each every block_size-th
// element (or aligned vector) in memory's order, so that neighbours read neighbours.
#pragma once

#include "lower/simt/stage_group.h"

namespace tilefuse::lower {

// By input: the offsets of its copying, empty where it is not staged by work-items.
using StageOffsets = std::vector<GroupOffsets>;

// Works out the offsets of what is staged in chunk loops, or once per block; stands before it.
StmtRef declare_offsets(const Context &cx, bool in_chunks, StageOffsets &offsets);

// Fills what is staged once at `level` (an index, or -1: per block); null when nothing is.
StmtRef fill_stages(const Context &cx, std::optional<IndexId> level, const StageOffsets &offsets);

// Starts the copies of everything staged in a ring, into the buffers of turn `cx.turn`.
StmtRef start_copies(const Context &cx, const StageOffsets &offsets);

// The two halves of filling a buffer that is staged twice: from memory into registers, and from
// those into the buffer of turn `cx.turn`.
class Prefetch {
public:
  Prefetch(const Context &cx, int input, const GroupOffsets &offsets);
  StmtRef fetch(const Context &cx) const;
  StmtRef put(const Context &cx) const;

private:
  int input_;
  const GroupOffsets &offsets_;
  std::vector<BufferId> registers_;
};

} // namespace tilefuse::lower
