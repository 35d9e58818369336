// SPDX-License-Identifier: Apache-2.0
// What blocks know of each other by the tickets that they take (kernel/nodes.h): a taker tells what
// its warp knows to whoever takes a later ticket of that element, and those of its block learn it
// as they learn anything else, through barriers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernel/nodes.h"
#include "kernel/simulation/clocks.h"

namespace tilefuse::kernel::simulation {

// The work-item that accesses, and its warp's number among the agents of Clocks.
struct Agent {
  std::int32_t item = 0;
  std::uint32_t warp = 0;
};

class Tickets {
public:
  explicit Tickets(Clocks &clocks) : clocks_(clocks) {}

  using Element = std::pair<const Buffer *, std::int64_t>;
  void start_cluster() { learnt_.clear(); }
  void take(const Element &element, std::int64_t block, Agent agent);

  struct Event {
    std::int64_t block = 0; // another than the one that runs
    Agent agent;
    std::uint32_t time = 0;
  };
  // Whether the event happened before what the agent does now.
  bool is_known(const Event &event, Agent agent) const;

private:
  struct Told {
    std::int64_t block = 0;
    Agent agent;
    std::vector<std::uint32_t> times; // by warp; of its own, what it did itself
  };
  struct Learnt {
    const std::vector<Told> *from = nullptr;
    std::size_t tickets = 0; // those before
    Agent agent;
    std::uint32_t time = 0;
  };

  Clocks &clocks_;
  std::map<Element, std::vector<Told>> told_;
  std::vector<Learnt> learnt_; // by the blocks that run
};

} // namespace tilefuse::kernel::simulation
