// SPDX-License-Identifier: Apache-2.0
// Memory spaces of the simulator: Global as given, Local per block with who touched what since the last barrier, Register
// per work-item. Every access is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/nodes.h"

namespace tilefuse::kernel::simulation {

// One lane of a value: `real` for floating-point types, else `whole` (Bool: 0 or 1).
union Cell {
  double real;
  std::int64_t whole;
};

// Where the simulation stands, for errors.
struct Position {
  const Kernel& kernel;
  StmtRef stmt = nullptr;
  std::int64_t block = 0;

  // Throws Error{Limit}.
  [[noreturn]] void fault(std::string_view what, std::int64_t lane) const;
};

class Memory {
 public:
  // Error{Shape} for arguments that do not fit, Error{Limit} for scratch beyond 1 GiB.
  Memory(const Position& position, std::span<const std::span<std::byte>> args);

  void start_block();
  void barrier() { ++epoch_; }

  // One element of a Global or Local buffer.
  Cell read(BufferId buffer, std::int64_t index, std::int64_t item);
  void write(BufferId buffer, std::int64_t index, std::int64_t item, Cell value);
  // One value of a Register buffer: a cell per lane.
  std::span<const Cell> read_register(BufferId buffer, std::int64_t index, std::int64_t item);
  std::span<Cell> write_register(BufferId buffer, std::int64_t index, std::int64_t item);

 private:
  // Of a Local element: last writer and reader, and the barrier count then.
  struct Touch {
    std::int64_t writer = -1;
    std::int64_t write_epoch = -1;
    std::int64_t reader = -1;
    std::int64_t read_epoch = -1;
  };
  struct Storage {
    std::byte* data = nullptr;     // Global and Local elements
    std::vector<std::byte> local;  // what `data` points to in a Local buffer
    std::vector<Touch> touched;    // Local, by element
    std::vector<Cell> cells;       // Register: (item, value, lane)
    std::vector<bool> written;     // Register: (item, value)
  };

  Storage& at(BufferId buffer, std::int64_t index, std::int64_t item);
  void note_read(Touch& touch, const Buffer& buffer, std::int64_t index, std::int64_t item) const;
  void note_write(Touch& touch, const Buffer& buffer, std::int64_t index, std::int64_t item) const;

  const Position& position_;
  const Kernel& kernel_;
  std::vector<Storage> storage_;  // by BufferId
  std::int64_t epoch_ = 0;
};

}  // namespace tilefuse::kernel::simulation
