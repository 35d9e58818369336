// SPDX-License-Identifier: Apache-2.0
// Global memory of the simulator, element by element, with who touched what and when. Every access
// is checked; see kernel/simulate.h for what is a fault.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernel/simulation/clocks.h"
#include "kernel/simulation/memory.h"
#include "kernel/simulation/tickets.h"

namespace tilefuse::kernel::simulation {

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
