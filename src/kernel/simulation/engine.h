// SPDX-License-Identifier: Apache-2.0
// What runs beside the warps of a block: tensor copies, and the mbarriers that they and warps
// complete. An agent of its own in Clocks: what it wrote is known to who waited for the mbarrier
// that it was counted off, and it may write over what its issuer knows to have been read.
//
// The engine moves only when no warp can (kernel/simulate.cpp), one copy at a time, oldest first: a
// program that works only if copies are quick is found out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/simulation/memory.h"

namespace tilefuse::kernel::simulation {

// An element of a Local buffer, as numbers.
struct LocalPlace {
  BufferId buffer{};
  std::int64_t index = 0;
  friend auto operator<=>(const LocalPlace &, const LocalPlace &) = default;
};

// A tensor copy with its coordinates.
struct BoxCopy {
  LocalPlace to;
  MapId map{};
  std::vector<std::int64_t> at;
  std::vector<std::int64_t> offsets;
  LocalPlace signals;
};

class Engine {
public:
  // `number` is the engine's in Clocks.
  Engine(const Kernel &kernel, const Position &position, Clocks &clocks, std::size_t number)
      : kernel_(kernel), position_(position), clocks_(clocks), number_(number) {}

  void start_block();

  // mbarriers; a fault where one is not initialised, or initialised twice.
  void init(const LocalPlace &at, std::int64_t arrivals, Agent agent);
  void arrive(const LocalPlace &at, std::int64_t expected_bytes, Agent agent);
  // Whether the phase of that parity is complete; if so the agent learns what its arrivals knew.
  bool has_passed(const LocalPlace &at, std::int64_t parity, Agent agent);
  // What is missing, for a fault.
  std::string missing(const LocalPlace &at) const;

  // The elements of a tensor that the rows of a box hold: from `first` on (kInactive: none)
  // `count`.
  struct BoxRows {
    std::vector<std::int64_t> first;
    std::vector<int> count;
  };
  // Takes a copy on: its elements are touched by nobody until it is done.
  BoxRows start(const BoxCopy &copy, LocalBuffer &to, GlobalBuffer &from, Agent agent);
  // Completes the oldest copy; false: there is none.
  bool run();

private:
  struct Barrier {
    std::int64_t arrivals = 0; // of a phase
    std::int64_t pending = 0;
    std::int64_t bytes = 0; // expected and not come; below 0: come early
    std::int64_t phase = 0;
    std::vector<std::uint32_t> gathered;  // what the arrivals of this phase know
    std::vector<std::uint32_t> completed; // of the last
  };
  struct Write {
    std::int64_t index = 0;
    Cell value{};
  };
  struct Started {
    LocalBuffer *to = nullptr;
    std::vector<Write> writes;
    Agent agent;
    LocalPlace signals;
    std::int64_t bytes = 0;
    StmtRef stmt = nullptr;
  };

  Barrier &barrier(const LocalPlace &at, Agent agent);
  void advance(Barrier &barrier);
  void check_start(const TensorMap &map, const BoxCopy &copy, Agent agent) const;

  const Kernel &kernel_;
  const Position &position_;
  Clocks &clocks_;
  std::size_t number_;
  std::map<LocalPlace, Barrier> barriers_;
  std::deque<Started> queue_;
};

} // namespace tilefuse::kernel::simulation
