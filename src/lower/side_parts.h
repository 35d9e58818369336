// SPDX-License-Identifier: Apache-2.0
// Kernels that become parts of one: their arguments and buffers put together, and their bodies
// copied into the whole, to run as another block and work-item.
//
// Local and register buffers of one name and type are one buffer, so that a block takes what its
// largest part does.
#pragma once

#include <map>
#include <vector>

#include "kernel/build.h"
#include "kernel/walk.h"
#include "lower/between.h"

namespace tilefuse::lower {

struct SidePart {
  const kernel::Kernel *kernel = nullptr;
  std::vector<int> arguments; // by Global buffer of the part: which argument of the whole
  bool is_dealt = false;
  kernel::BufferId results{-1}; // of the part's stores, beside which others store `between`
  std::vector<Between> between = {};
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
};

// Buffers of the whole: its arguments, `counts` counts if not 0, then others, those of one kind
// once.
std::vector<kernel::Buffer> merged_buffers(const std::vector<SidePart> &parts,
                                           std::int64_t counts = 0);

// Declares them and what the whole moves; a copier for each part.
std::vector<PartCopier> declare_parts(kernel::Builder &build, const std::vector<SidePart> &parts,
                                      std::int64_t counts = 0);

} // namespace tilefuse::lower
