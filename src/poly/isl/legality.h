// SPDX-License-Identifier: Apache-2.0
// Whether producers may run inside the tiles of what reads them: ten rules, a function each, for
// the sources of poly/ alone. Each answers with why it refuses, or nothing; a quota that does not
// suffice refuses.
//
//   scop + who produces, who consumes + tile sizes → tiles and the extension → the rules
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poly/isl/dependences.h"

namespace tilefuse::poly {

// Producers in the order in which they would run in a tile.
struct Fusion {
  Scop scop;
  Dependences deps;
  Chosen producers;
  Chosen consumers;
  Relation tiles;     // instance of a consumer → tile
  Relation extension; // tile → instances of producers that run for it
};

// Tiles of the first `sizes.size()` loops of the consumers and, by composing accesses backwards,
// what producers must run for each.
Fusion propose(const Scop &scop, const Dependences &deps, const Chosen &producers,
               const Chosen &consumers, const std::vector<std::int64_t> &sizes);

using Refusal = std::optional<std::string>;

// L1: under `schedule`, dependences of the consumers among each other go forward.
Refusal runs_backwards(const Fusion &fusion, const Relation &schedule);
// L2: every source of what a tile reads is in its extension.
Refusal misses_sources(const Fusion &fusion);
// L3: so is every source of what producers read, and producers stand in the order of their data.
Refusal misses_transitive_sources(const Fusion &fusion);
// L4: an element's whole reduction runs in a tile, of producers and of consumers.
Refusal splits_reduction(const Fusion &fusion);
// L5: running a producer again does the same again: it does not overwrite what it reads.
Refusal overwrites_its_input(const Fusion &fusion);
// L6: the original must stay, since `live_out` elements or others than the consumers need it.
Refusal is_needed_elsewhere(const Fusion &fusion, const Points &live_out);
// L7: with `stores` (tile → instance) each instance of the producers is stored by exactly one tile,
// which computes it.
Refusal stores_wrongly(const Fusion &fusion, const Relation &stores);
// L8: consumers do not overwrite what producers read.
Refusal consumers_overwrite_its_input(const Fusion &fusion);
// L9: producers give the same result however often they run.
Refusal is_impure(const Fusion &fusion);
// L10: padding is put around the producer's result: nothing is computed outside its domain.
Refusal computes_padding(const Fusion &fusion);

// The rules that every fusion must keep: all but L1, which is of a schedule, and L6 and L7, which
// say what becomes of the original.
std::vector<std::string> refusals(const Fusion &fusion);

} // namespace tilefuse::poly
