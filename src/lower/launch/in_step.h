// SPDX-License-Identifier: Apache-2.0
// Kernels with wgmma that take turns in the same blocks, tile by tile: the classes of a strided
// input gradient, say, whose tiles of one number read the same part of the error and write
// neighbours. Each alone would read all of it again; together short classes wait for memory while
// long ones multiply, and a block starts once.
//
//   for tile in block..1568 step 132 {                    the work-item that fills the ring
//     copies of the first kernel; of the second …
//   }
//   for tile in block..1568 step 132 {                    groups that take turns
//     if turn == 0 { the first kernel's products; if tile < 1568 { its results } the third's … }
//     else { the second's; the fourth's }
//   }
//
// Kernels of fewer tiles than others take their last again, which nobody stores. Two groups have
// kernels of their own each, so that one stores while the other multiplies and none waits for a
// tile that is not there; one group has all.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernel/build.h"
#include "lower/launch/side_parts.h"

namespace tilefuse::lower {

// Loops over tiles alike: what precedes them in the one kernel holds for the other.
bool can_step(const kernel::Kernel &first, const kernel::Kernel &other);

class InStep {
public:
  // Of these parts, the first part in front; all can step with it, and where groups take turns
  // they are even in number.
  InStep(kernel::Builder &build, std::vector<const SidePart *> parts,
         std::vector<PartCopier *> copiers);

  // All bodies, in place of the first part's next loop over tiles.
  kernel::StmtRef loop();

private:
  kernel::StmtRef producer(kernel::VarId tile);
  kernel::StmtRef consumer(kernel::VarId tile, kernel::ExprRef behind);
  kernel::StmtRef skip_difference(std::size_t part);

  kernel::Builder &b_;
  const std::vector<const SidePart *> parts_;
  const std::vector<PartCopier *> copiers_;
  std::vector<std::vector<const kernel::For *>> loops_; // by part
  std::size_t next_ = 0;
};

} // namespace tilefuse::lower
