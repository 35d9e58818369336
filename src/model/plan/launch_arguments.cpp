// SPDX-License-Identifier: Apache-2.0
#include "model/plan/launch_arguments.h"

#include <algorithm>

#include "base/index.h"
#include "schedule/members.h"

namespace tilefuse::model {
void number_arguments(Launch &launch, const std::vector<LaunchPart> &parts) {
  struct Known {
    program::BufferId buffer;
    nest::Slot slot;
    int number;
  };
  std::vector<Known> known;
  for (std::size_t p = 0; p < launch.kernels.size(); ++p) {
    const LaunchPart &part = parts[launch.kernels[p]];
    const poly::Group &group = part.placed->group;
    std::vector<int> &numbers = launch.arguments.emplace_back();
    for (const schedule::KernelArg &arg : kernel_args(group, *part.schedule)) {
      const auto number = static_cast<int>(launch.args.size());
      const auto slot = at(slot_of(group, arg));
      const Known mine{part.placed->buffers[slot], group_slots(group)[slot], number};
      const auto same = std::find_if(known.begin(), known.end(), [&](const Known &other) {
        return arg.slot >= 0 && other.buffer == mine.buffer && other.slot == mine.slot;
      });
      numbers.push_back(same == known.end() ? number : same->number);
      if (same != known.end())
        continue;
      launch.args.push_back({p, arg});
      if (arg.slot >= 0)
        known.push_back(mine);
    }
  }
}

} // namespace tilefuse::model
