// SPDX-License-Identifier: Apache-2.0
// Kernels with wgmma that take turns in the same blocks, tile by tile: the classes of a strided
// input gradient, say, whose tiles of one number read the same part of the error and write
// neighbours. Each alone would read all of it again; together short classes wait for memory while
// long ones multiply, and a block starts once.
//
//   for first in block..1568 step 264 {                   the work-item that fills the ring
//     for tile in first..first + 264 step 132 { copies of the first kernel }
//     for tile in first..first + 264 step 132 { copies of the second }
//   }
//   for tile in block + turn * 132..1568 + turn * 132 step 264 {      groups that take turns
//     the first kernel's products; if tile < 1568 { its results } …
//   }
//
// Both groups take as many tiles: those behind the last are the last again, which nobody stores.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernel/build.h"
#include "lower/side_parts.h"

namespace tilefuse::lower {

// Loops over tiles alike: what precedes them in the one kernel holds for the other.
bool can_step(const kernel::Kernel &first, const kernel::Kernel &other);

class InStep {
public:
  // Of these parts, the first part in front; all can step with it.
  InStep(kernel::Builder &build, std::vector<const SidePart *> parts,
         std::vector<PartCopier *> copiers);

  // All bodies, in place of the first part's next loop over tiles.
  kernel::StmtRef loop();

private:
  kernel::StmtRef producer(const kernel::For &first, std::int64_t end);
  kernel::StmtRef consumer(const kernel::For &first, std::int64_t end);
  kernel::StmtRef skip_difference(std::size_t part, kernel::ExprRef is_later);

  kernel::Builder &b_;
  const std::vector<const SidePart *> parts_;
  const std::vector<PartCopier *> copiers_;
  std::vector<std::vector<const kernel::For *>> loops_; // by part
  std::size_t next_ = 0;
};

} // namespace tilefuse::lower
