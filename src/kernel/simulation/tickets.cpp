// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/tickets.h"

#include <algorithm>

namespace tilefuse::kernel::simulation {

void Tickets::take(const Element &element, std::int64_t block, Agent agent) {
  std::vector<Told> &told = told_[element];
  learnt_.push_back({&told, told.size(), agent, clocks_.now(agent.warp)});
  told.push_back({block, agent, clocks_.tell(agent.warp)});
}

bool Tickets::is_known(const Event &event, Agent agent) const {
  const auto has_learnt = [&](const Learnt &one) {
    return one.agent.item == agent.item || clocks_.is_ordered(one.agent.warp, one.time, agent.warp);
  };
  const auto says = [&](const Told &told) {
    const std::uint32_t known = told.times[event.agent.warp];
    const bool is_beside =
        event.agent.warp == told.agent.warp && event.agent.item != told.agent.item;
    return told.block == event.block && (is_beside ? event.time < known : event.time <= known);
  };
  return std::any_of(learnt_.begin(), learnt_.end(), [&](const Learnt &one) {
    const auto end = one.from->begin() + static_cast<std::ptrdiff_t>(one.tickets);
    return has_learnt(one) && std::any_of(one.from->begin(), end, says);
  });
}

} // namespace tilefuse::kernel::simulation
