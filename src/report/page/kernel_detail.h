// SPDX-License-Identifier: Apache-2.0
// What the page of one kernel shows beyond its part of the model's page: the schedules that were
// weighed, its loops, the order of its copies, and its code at three levels, with what one simulated
// block spent of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/bank_patterns.h"
#include "report/page/loop_tree.h"
#include "report/page/network_page.h"
#include "report/page/pipe_timeline.h"

namespace tilefuse::report {

// A line of a kernel's text, and how often warps came by an access in it; -1: it has none.
struct CodeLine {
  std::string text;
  std::int64_t executed = -1;
};

struct KernelDetail {
  std::vector<Weighed> weighed;
  std::vector<LoopLevel> loops;
  Timeline pipes;
  std::string program;           // its statements
  std::vector<CodeLine> kernel;  // as it is before code is generated
  std::string code;              // source of the device's language, or empty: machine code
  std::string simulated;         // what was simulated, or why nothing was
  std::vector<BankAccess> banks; // of local memory, by the simulated block
};

// Of a kernel of the page, which was made of `compiled`.
KernelDetail kernel_detail(const model::Compiled &compiled, const NetworkPage &page,
                           const KernelPage &kernel, const ScheduleOptions &how);

} // namespace tilefuse::report
