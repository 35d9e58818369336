// SPDX-License-Identifier: Apache-2.0
// Which elements of a staged tile its fill writes to memory too, where the tensor is needed there
// (L7): every element of the tensor is written by one fill of one block.
//
// Fills follow one another along indices: tiles of a block or steps, and chunks. Along an index
// that moves the tile, each fill owns what the next does not stage, the last one all that it
// stages. Along one that does not, the first fill owns everything.
//
//   y in tiles of 8, read at y + r - 1 for three r: 10 rows are staged, the first 8 are owned
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

struct Ownership {
  struct Part {                                  // of a dimension of the staged tile
    std::optional<IndexId> index = std::nullopt; // that moves it from fill to fill
    std::int64_t owned = 0;                      // elements of a fill that is not the last
    std::int64_t last = 0;                       // first point of the last fill
  };
  std::vector<Part> parts;
  std::vector<IndexId> repeats; // indices whose first fill alone owns anything
};

// Nothing, and why, when no such rule covers the tensor that input `input` stages.
std::optional<Ownership> ownership(const nest::Nest &nest, const Schedule &schedule, int input,
                                   std::string *why = nullptr);

} // namespace tilefuse::schedule
