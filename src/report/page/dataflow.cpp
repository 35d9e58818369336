// SPDX-License-Identifier: Apache-2.0
#include "report/page/dataflow.h"

#include <map>
#include <set>

#include "base/index.h"

namespace tilefuse::report {

std::vector<Flow> dataflow(const model::Compiled &compiled, const model::Plan &plan) {
  std::map<program::BufferId, std::vector<std::size_t>> writers; // in front of the launch
  std::vector<Flow> flows;
  for (std::size_t l = 0; l < compiled.launches.size(); ++l) {
    std::map<std::size_t, std::int64_t> bytes_from;
    std::set<program::BufferId> written;
    for (const launch::Part &part : compiled.launches[l].launch.parts)
      for (const poly::SlotId slot : poly::written_slots(part.placed.group))
        written.insert(part.placed.buffers[slot]);
    for (const model::PlannedArgument &argument : plan.launches[l])
      if (argument.constant < 0 && written.count(argument.buffer) == 0)
        for (const std::size_t writer : writers[argument.buffer])
          bytes_from[writer] += plan.buffers[at(argument.buffer)].bytes;
    for (const auto &[from, bytes] : bytes_from)
      flows.push_back({from, l, bytes});
    for (const program::BufferId buffer : written)
      writers[buffer].push_back(l);
  }
  return flows;
}

} // namespace tilefuse::report
