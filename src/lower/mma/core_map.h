// SPDX-License-Identifier: Apache-2.0
// An input under mma: its ring, or where a map feeds it (schedule/mma/core_feeds.h) rings of what the
// map reads, and the map in place, by the work-item that copied a run, once it has arrived.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "lower/mma/core_copies.h"
#include "lower/mma/gemm_part.h"
#include "schedule/mma/core_feeds.h"

namespace tilefuse::lower {

// The map that feeds an input of a member, or null.
const schedule::CoreFeed *feed_of(const Context &member, int input);
// What copies bring in the place of an input: the input itself, or what a map of it reads, the first
// to be mapped in place.
struct CopiedInput {
  nest::Nest nest; // the member that reads it there
  BufferId from{-1};
  std::string suffix; // of names
};
std::vector<CopiedInput> copied_inputs(const Context &member, int input);
// The element of what a map reads, by the anchor's indices.
nest::Linear read_form(const Context &anchor, const schedule::CoreFeed &feed, int extra);

class CoreInput : GemmPart {
public:
  // The rings are its own, or `rings` by place in feed.copied, which so many work-items fill.
  CoreInput(Context &context, int input, const std::vector<BufferId> &rings = {},
            std::int64_t items = 0);

  // The rings of what is copied; the first is that of the input.
  CoreSide &side() { return sides_.front(); }
  // What CoreSide does, on all of them that are not gathered.
  StmtRef declare(ExprRef first);
  StmtRef start(const Positions &points, ExprRef slot) const;
  // Maps the step at `points`, which lies in buffer `slot`; null where no map feeds the input.
  StmtRef evaluate(const Positions &points, ExprRef slot) const;

private:
  ExprRef load(int extra, const CoreSide::Run &run, const std::vector<ExprRef> &shared) const;

  const schedule::CoreFeed *feed_;
  std::deque<CoreSide> sides_; // by place in feed.copied
};

} // namespace tilefuse::lower
