// SPDX-License-Identifier: Apache-2.0
// The members of a group as one kernel: their tile nests, the kernel's arguments, and a context for
// each with its buffers. Contexts of producers say nothing about where their tile begins: who fills
// a buffer says it in a copy.
#pragma once

#include <functional>
#include <vector>

#include "lower/context.h"
#include "poly/group.h"
#include "schedule/members.h"
#include "schedule/resolved.h"
#include "schedule/schedule.h"

namespace tilefuse::lower {

// Fills the buffer of an input that a producer of the group computes, at the consumer's current
// position.
using FillProduced = kernel::StmtRef (*)(const Context &consumer, int input);

struct Members {
  // Declares arguments and staging buffers. The group and the schedule must outlive it.
  Members(const poly::Group &group, const schedule::Schedule &schedule, const Target &target,
          kernel::Builder &build);
  Members(const Members &) = delete;
  Members &operator=(const Members &) = delete;

  const schedule::Resolved resolved;
  const poly::Group &group = resolved.group;
  const schedule::Schedule &schedule = resolved.schedule;
  Indexed<poly::MemberId, Context> contexts;
  Indexed<poly::SlotId, kernel::BufferId> slots; // of the group, those that are arguments
  FillProduced fill_produced = nullptr;
};

// The kernel of a group, with its name, launch sizes and figures; `body` builds its statements.
kernel::Kernel group_kernel(const poly::Group &group, const schedule::Schedule &schedule,
                            const Target &target,
                            const std::function<kernel::StmtRef(Members &)> &body);

// Declares a buffer of the member's local memory (schedule/local_memory.h).
kernel::BufferId declare_local(const Context &member, schedule::LocalUse use, int number = 0);

// Operations of all members, each as if its tensor were computed once.
double flops(const poly::Group &group);
// Of the global buffers, each once.
double bytes_moved(const kernel::Kernel &kernel);

} // namespace tilefuse::lower
