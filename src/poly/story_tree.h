// SPDX-License-Identifier: Apache-2.0
// The schedule tree of a scop as the program has it, for the sources of poly/ alone.
#pragma once

#include "poly/isl/scop.h"
#include "poly/schedule_tree.h"

namespace tilefuse::poly {

// Statements that share loops: the parts of one nest, or of a nest and the maps that follow it.
struct LoopNest {
  std::vector<ScopStatement> statements;
  std::size_t loops = 0; // that all of them share, their first ones
};

Chosen names_of(const LoopNest &nest);
// "{ S1[h, w]; S2[h, w, kh, kw] }"
std::string filter_text(const LoopNest &nest);
// The shared loops as a band over a sequence of the statements.
ScheduleTree tree_of(const LoopNest &nest);
// A sequence of all of them, below the domain.
ScheduleTree tree_of(const Scop &scop, const std::vector<LoopNest> &nests);

} // namespace tilefuse::poly
