// SPDX-License-Identifier: Apache-2.0
#include "schedule/resolved.h"

#include "poly/row_group.h"
#include "schedule/members.h"

namespace tilefuse::schedule {

Resolved::Resolved(const poly::Group &from, const Schedule &how)
    : group(from), schedule(how), nests(tile_nests(from, how)), gemms(nests.size()),
      args(kernel_args(from, how)) {
  for (const poly::MemberId m : nests.ids()) {
    if (has_schedule(group, m) && has_core(member_schedule(schedule, m)))
      gemms[m].emplace(gemm_of(nests[m], member_schedule(schedule, m)));
  }
  if (gemms[poly::kAnchor])
    feeds = core_feeds(group, *gemms[poly::kAnchor]);
  for (const poly::MemberId m : nests.ids())
    locals.push_back(local_buffers(group, schedule, m, nests[m]));
}

} // namespace tilefuse::schedule
