// SPDX-License-Identifier: Apache-2.0
// Fragments of an input that lies turned in the ring, words of 4 bytes: wgmma takes its operand a from
// registers, so that nobody turns its tile there. The tile lies in panels of 32 points of the depth,
// 32 rows of the product each, as tensor copies leave it; an element is a load of its own.
//
//   for 8 points of the depth { wait; load a fragment for each 64 rows; fence; multiply }
//
// A fragment is loaded while instructions multiply by another: there are two for each 64 rows.
#pragma once

#include <array>

#include "lower/mma/gemm_part.h"

namespace tilefuse::lower {

class WgmmaFragments : GemmPart {
public:
  // Of tiles of `blocks` times 64 rows.
  WgmmaFragments(Context &context, std::int64_t blocks);

  // Names where this work-item reads, in a group's part of a tile.
  void place(Stmts &list);
  // Fragments of points [8 k, 8 k + 8) of the group's part of a tile, which begins at `tile`.
  StmtRef load(kernel::LocalRef tile, std::int64_t k) const;
  // The fragment of block `block` for these points.
  kernel::LocalRef at(std::int64_t block, std::int64_t k) const;

private:
  static constexpr int kValues = 4; // of a fragment that a work-item holds
  std::int64_t first(std::int64_t block, std::int64_t k) const;

  const std::int64_t blocks_;
  const BufferId fragments_;
  std::array<ExprRef, kValues> places_{};
};

} // namespace tilefuse::lower
