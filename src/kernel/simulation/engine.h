// SPDX-License-Identifier: Apache-2.0
// What runs beside the warps of a cluster's blocks: tensor copies, and the mbarriers that they and
// warps complete. Copies of each block are an agent of their own in Clocks: what they wrote is
// known to who waited for the mbarrier that they were counted off, and they may write over what
// their issuer knows to have been read.
//
// What comes to a block from others of its cluster must lie between its initialisation of the
// mbarrier and its end, as its warps know them.
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

#include "kernel/simulation/global_buffer.h"
#include "kernel/simulation/local_buffer.h"

namespace tilefuse::kernel::simulation {

// An element of a Local buffer of the cluster's block of a rank, as numbers.
struct LocalPlace {
  std::int64_t rank = 0;
  BufferId buffer{};
  std::int64_t index = 0;
  friend auto operator<=>(const LocalPlace &, const LocalPlace &) = default;
};

// A tensor copy with its coordinates. `to` and `signals` are this block's, and stand for the same
// places of each of `ranks`.
struct BoxCopy {
  LocalPlace to;
  MapId map{};
  std::vector<std::int64_t> at;
  std::vector<std::int64_t> offsets;
  LocalPlace signals;
  std::vector<std::int64_t> ranks;
};

// Element of the tensor at a coordinate, or -1 outside.
std::int64_t element_at(const TensorMap &map, const std::vector<std::int64_t> &at);
// The tensor's coordinate of each row of a copy's box.
std::vector<std::vector<std::int64_t>> rows_of(const TensorMap &map, const BoxCopy &copy);

class Engine {
public:
  // Of blocks with so many warps.
  Engine(const Kernel &kernel, const Position &position, Clocks &clocks, std::size_t warps)
      : kernel_(kernel), position_(position), clocks_(clocks), warps_(warps) {}

  void start_cluster();

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
  // The agent reads local memory of the block of a rank.
  void visit(std::int64_t rank, Agent agent) { note_visit(rank, agent, position_.stmt); }

  // Takes a copy on: its elements are touched by nobody until it is done. `to` by rank of the copy.
  BoxRows start(const BoxCopy &copy, const std::vector<LocalBuffer *> &to, GlobalBuffer &from,
                Agent agent);
  // Completes the oldest copy; false: there is none.
  bool run();
  // A fault where the block of a rank, which has ended, may have done so before others came to it.
  void check_end(std::int64_t rank) const;

private:
  struct Barrier {
    std::size_t initialised_by = 0; // agent, and its time
    std::uint32_t initialised_at = 0;
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
    std::vector<LocalBuffer *> to;
    std::vector<Write> writes;
    Agent agent;
    LocalPlace signals;
    std::vector<std::int64_t> ranks;
    std::int64_t bytes = 0;
    StmtRef stmt = nullptr;
  };
  // An agent of another block that came to one, and when.
  struct Visit {
    Agent agent;
    std::uint32_t time = 0;
    StmtRef stmt = nullptr;
  };

  std::size_t agents_of_block() const { return warps_ + 1; }
  std::size_t agent_of(std::int64_t rank) const {
    return static_cast<std::size_t>(rank) * agents_of_block() + warps_;
  }
  std::int64_t rank_of(std::size_t agent) const {
    return static_cast<std::int64_t>(agent / agents_of_block());
  }
  void note_visit(std::int64_t rank, Agent agent, StmtRef stmt);
  Barrier &barrier(const LocalPlace &at, Agent agent);
  void advance(Barrier &barrier);
  void check_start(const TensorMap &map, const BoxCopy &copy, Agent agent) const;

  const Kernel &kernel_;
  const Position &position_;
  Clocks &clocks_;
  const std::size_t warps_;
  std::map<LocalPlace, Barrier> barriers_;
  std::map<std::pair<std::int64_t, std::size_t>, Visit> visits_; // (rank, agent): the last
  std::deque<Started> queue_;
};

} // namespace tilefuse::kernel::simulation
