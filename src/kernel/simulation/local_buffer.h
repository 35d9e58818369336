// SPDX-License-Identifier: Apache-2.0
// Local memory of the simulator, element by element, with who touched what and when. Every access
// is checked; see kernel/simulate.h for what is a fault.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "kernel/simulation/clocks.h"
#include "kernel/simulation/memory.h"
#include "kernel/simulation/tickets.h"

namespace tilefuse::kernel::simulation {

// A Local buffer of one block at a time, and who may read it: the block's own agents, or all of the
// cluster's.
class LocalBuffer {
public:
  LocalBuffer(const Position &position, const Clocks &clocks, const Buffer &buffer,
              AgentRange readers);

  void start_block(std::uint32_t first_time);
  Cell read(std::int64_t index, Agent agent);
  void write(std::int64_t index, Agent agent, Cell value);
  // An asynchronous write: begun now, done when the agent waits for it.
  void begin_write(std::int64_t index, Agent agent);
  void end_write(std::int64_t index, Agent agent, Cell value);
  // The same of a tensor copy, which needs no fence.
  void end_tensor_write(std::int64_t index, Agent agent, Cell value);
  // What the work-item has written may be read by tensor stores and wgmma.
  void fence(Agent agent);
  // A read by those, of what a fence has told them.
  Cell read_beside(std::int64_t index, Agent agent);
  // A tensor store's read: nobody writes there until it has ended.
  Cell begin_read(std::int64_t index, Agent agent);
  void end_read(std::int64_t index);

private:
  struct Touch {
    std::int32_t item = -1;
    std::uint32_t time = 0;
  };
  struct Writer : Touch {
    std::uint32_t warp = 0;
    bool is_pending = false;
    int reads = 0;            // of tensor stores under way
    std::uint64_t number = 0; // of the write in this block; 0: a tensor copy's
  };

  Writer &at(std::int64_t index, Agent agent);
  void check_written(std::int64_t index, Agent agent, const Writer &writer) const;
  void check_read(std::int64_t index, Agent agent) const;
  [[noreturn]] void fault(std::int64_t index, Agent agent, std::string_view what,
                          std::int64_t other) const;

  const Position &position_;
  const Clocks &clocks_;
  const Buffer &buffer_;
  AgentRange agents_;
  std::uint32_t first_time_ = 0;
  std::vector<std::byte> data_;
  std::vector<Writer> writers_; // by element: the last
  std::vector<Touch> readers_;  // (element, agent): the last, item kSeveral for more than one
  std::uint64_t written_ = 0;   // writes in this block
  std::map<std::int32_t, std::uint64_t> fenced_; // by work-item: its writes up to here
};

} // namespace tilefuse::kernel::simulation
