// SPDX-License-Identifier: Apache-2.0
// The flattening table: one row per index with its range and its stride in every tensor.
//
//              Range         O         D         K
//       ci        64         0         1         1
//      off                   0    -14400         0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::report {

struct FlatColumn {
  std::string name;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides; // by row
  std::int64_t vector = 1;           // elements that move at once
};

struct FlatTable {
  std::vector<std::string> names; // by row
  std::vector<std::int64_t> ranges;
  std::vector<FlatColumn> columns;
};

// Cells of 8 characters (more where a name is longer), two blanks between, none behind. A last row
// `vec` stands only where something is vectorised.
std::string to_text(const FlatTable &table);

} // namespace tilefuse::report
