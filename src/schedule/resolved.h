// SPDX-License-Identifier: Apache-2.0
// What follows from a group and a legal schedule of it, worked out once: nests as they run,
// products of matrices with their tiles, buffers of local memory, the kernel's arguments. Cost,
// lowering and launches read it and derive none of it again.
#pragma once

#include <optional>
#include <vector>

#include "poly/group.h"
#include "schedule/local_memory.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {

struct Resolved {
  // Requires a legal schedule. Borrows both.
  Resolved(const poly::Group &from, const Schedule &how);
  Resolved(const Resolved &) = delete;
  Resolved &operator=(const Resolved &) = delete;

  const poly::Group &group;
  const Schedule &schedule;
  Indexed<poly::MemberId, nest::Nest> nests;          // as they run: producers' by tiles
  Indexed<poly::MemberId, std::optional<Gemm>> gemms; // of those that a matrix instruction computes
  std::vector<CoreFeed> feeds;                        // maps in the ring of the anchor's product
  Indexed<poly::MemberId, std::vector<LocalBuffer>> locals;
  std::vector<KernelArg> args;
};

} // namespace tilefuse::schedule
