// SPDX-License-Identifier: Apache-2.0
// Kernels that become parts of one: their arguments and buffers put together, and their bodies
// copied into the whole, to run as another block and work-item.
//
// Local and register buffers of one name and type are one buffer, so that a block takes what its
// largest part does.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/build.h"
#include "kernel/walk.h"
#include "launch/between.h"

namespace tilefuse::lower {

// A kernel with wgmma whose tiles are taken in step with others' (lower/launch/in_step.h).
struct StepPart {
  std::int64_t ring = 0;      // its buffers
  std::int64_t steps = 0;     // that a tile takes
  kernel::BufferId place{-1}; // of the kernel: where in the ring who multiplies stands
};

struct SidePart {
  const kernel::Kernel *kernel = nullptr;
  std::vector<int> arguments; // by Global buffer of the part: which argument of the whole
  bool is_dealt = false;
  bool is_following = false;    // its body stands behind the first part's, for the same work-items
  kernel::BufferId results{-1}; // of the part's stores, beside which others store `between`
  std::vector<launch::Between> between = {};
  std::optional<StepPart> step = {}; // in the first part's blocks; of the first too
};

// Copies a part's body into the whole.
class PartCopier : public kernel::Rewriter {
public:
  // `buffers`: of the whole, by buffer of the part.
  PartCopier(kernel::Builder &to, const SidePart &part, std::vector<kernel::BufferId> buffers);

  // The body as work-item `lane` of block `block`; with `beside`, which runs in idle warps or,
  // where there are none, in front.
  kernel::StmtRef body(kernel::ExprRef block, kernel::ExprRef lane,
                       kernel::StmtRef beside = nullptr);

  kernel::ExprRef expr(kernel::ExprRef from) override;
  kernel::StmtRef stmt(kernel::StmtRef from) override;
  kernel::BufferId buffer(kernel::BufferId from) override;
  kernel::MapId map(kernel::MapId from) override;
  kernel::VarId variable(kernel::VarId from) override;

  // Lets a variable of the part be one of the whole.
  void name(kernel::VarId from, kernel::VarId in_whole) { variables_[from] = in_whole; }
  // Puts this in the place of the part's loops over tiles, in order.
  void replace_tile_loops(std::function<kernel::StmtRef()> by) { tile_loop_ = std::move(by); }

  // The branch of the one work-item that starts tensor copies.
  static bool starts_copies(kernel::StmtRef from);

private:
  kernel::StmtRef store_between(const kernel::Store &from);

  const SidePart &side_;
  const kernel::Kernel &part_;
  std::vector<kernel::BufferId> buffers_;
  std::vector<kernel::MapId> maps_;
  std::map<kernel::VarId, kernel::VarId> variables_;
  kernel::ExprRef block_;
  kernel::ExprRef lane_;
  kernel::StmtRef beside_ = nullptr;
  std::function<kernel::StmtRef()> tile_loop_;
};

// Whether it is a loop over the tiles of a block with wgmma.
bool is_tile_loop(const kernel::For &loop);

// Buffers of the whole: its arguments, `counts` counts if not 0, then others, those of one kind
// once.
std::vector<kernel::Buffer> merged_buffers(const std::vector<SidePart> &parts,
                                           std::int64_t counts = 0);

// Declares them and what the whole moves; a copier for each part.
std::vector<PartCopier> declare_parts(kernel::Builder &build, const std::vector<SidePart> &parts,
                                      std::int64_t counts = 0);

} // namespace tilefuse::lower
