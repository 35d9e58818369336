// SPDX-License-Identifier: Apache-2.0
// What feeds an input under mma (schedule/mma/core_feeds.h): rings of what its map reads, and the
// map in place, by the work-item that copied a run, once it has arrived.
#pragma once

#include <deque>
#include <vector>

#include "lower/mma/core_copies.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::lower {

class CoreMap {
public:
  CoreMap(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile,
          const schedule::CoreFeed &feed);

  // The rings of what is copied; the first is that of the input.
  CoreSide &side() { return sides_.front(); }
  // What CoreSide does, on all of them.
  kernel::StmtRef declare(kernel::ExprRef first);
  kernel::StmtRef start(const CoreWalk &walk, kernel::ExprRef slot) const;
  // Maps the step of a walk behind, which lies in buffer `slot`.
  kernel::StmtRef evaluate(const CoreWalk &behind, kernel::ExprRef slot) const;

private:
  const nest::Nest &map() const;
  kernel::ExprRef load(int extra, const CoreSide::Run &run,
                       const std::vector<kernel::ExprRef> &shared) const;

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreFeed &feed_;
  const Context &producer_;
  std::deque<nest::Nest> nests_; // the anchor with each extra of the map
  std::deque<CoreSide> sides_;   // by place in feed.copied
};

} // namespace tilefuse::lower
