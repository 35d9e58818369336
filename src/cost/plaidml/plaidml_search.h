// SPDX-License-Identifier: Apache-2.0
// PlaidML v0's search for a tile: from all ones, best score first, each tile's neighbours are those
// with one index doubled (up to its range). The fast walk stops when the best pending score lies
// below the last score computed, which is that of the last neighbour and not of the tile it came
// from. The highest score wins; of equal ones the tile that was visited last.
#pragma once

#include <cstddef>
#include <vector>

#include "cost/plaidml/plaidml_stats.h"

namespace tilefuse::cost::plaidml {

enum class Walk { Fast, Full };

struct Visit {
  Tile tile;
  Stats stats;
  Score score;
};

struct Search {
  std::vector<Visit> visits; // in order; never empty
  std::size_t best = 0;
  std::size_t ties = 0; // visits with the best score, the best included
};

// Requires a prepared kernel (plaidml_flat.h). Error{Limit} after 2^20 tiles.
Search search(const Flat &flat, const Settings &settings, Walk walk);

// The same choice among given tiles.
Search evaluate(const Flat &flat, const Settings &settings, const std::vector<Tile> &tiles);

} // namespace tilefuse::cost::plaidml
