// SPDX-License-Identifier: Apache-2.0
// Global and Local memory of the simulator, element by element, with who touched what and when.
// Every access is checked; see kernel/simulate.h for what is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/nodes.h"
#include "kernel/simulation/clocks.h"
#include "kernel/simulation/program.h"
#include "kernel/simulation/tickets.h"

namespace tilefuse::kernel::simulation {

// Where the simulation stands, for errors.
struct Position {
  const Kernel &kernel;
  StmtRef stmt = nullptr;
  std::int64_t block = 0;

  // Throws Error{Limit}.
  [[noreturn]] void fault(std::string_view what, std::int64_t item) const;
};

// Some agents that follow each other.
struct AgentRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// One element as a cell, and back: whole numbers wrap to the type.
Cell load_cell(const std::byte *data, DType type, std::int64_t index);
void store_cell(std::byte *data, DType type, std::int64_t index, Cell value);

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

// A Global buffer over the whole grid.
class GlobalBuffer {
public:
  GlobalBuffer(const Position &position, const Clocks &clocks, Tickets &tickets,
               const Buffer &buffer, std::byte *data, bool is_updated);
  // Each element that is not to be written faults when it is.
  void expect(const std::vector<bool> &elements) { expected_ = &elements; }

  Cell read(std::int64_t index, Agent agent);
  void write(std::int64_t index, Agent agent, Cell value);
  // A ticket of an element of counts: what it was.
  Cell take(std::int64_t index, Agent agent);
  // Faults with an expected element that nothing wrote, or a count that is not back at 0.
  void check_complete() const;

private:
  static constexpr std::int64_t kNobody = -1;
  static constexpr std::int64_t kSeveralBlocks = -2;
  struct Touch {
    std::int64_t block = kNobody;
    std::int32_t item = -1;
    std::uint32_t warp = 0;
    std::uint32_t time = 0;
  };

  // By element, in pages that come into being when they are first touched: few blocks of a large
  // buffer cost little. Error{Limit} past kMostTouches of a buffer.
  class Touches {
  public:
    Touch &at(std::int64_t index, const Position &position, const Buffer &buffer);
    Touch get(std::int64_t index) const;

  private:
    static constexpr std::int64_t kPage = 4096;
    static constexpr std::int64_t kMostTouches = std::int64_t{1} << 27;
    std::vector<std::unique_ptr<Touch[]>> pages_; // up to the last one made
    std::int64_t made_ = 0;
  };

  void check_bounds(std::int64_t index, Agent agent) const;
  bool is_ordered(const Touch &earlier, Agent agent) const;
  void note_read(std::int64_t index, Agent agent);
  void note_write(std::int64_t index, Agent agent);
  [[noreturn]] void fault(std::int64_t index, Agent agent, std::string_view what,
                          const Touch &other) const;

  const Position &position_;
  const Clocks &clocks_;
  Tickets &tickets_;
  const Buffer &buffer_;
  std::byte *data_;
  bool is_updated_;
  const std::vector<bool> *expected_ = nullptr;
  Touches writers_; // of a written buffer: the last
  Touches readers_;
};

} // namespace tilefuse::kernel::simulation
