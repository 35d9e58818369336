// SPDX-License-Identifier: Apache-2.0
// What Global and Local memory of the simulator share: cells, and where a fault is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernel/nodes.h"
#include "kernel/simulation/program.h"

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

} // namespace tilefuse::kernel::simulation
