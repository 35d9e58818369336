// SPDX-License-Identifier: Apache-2.0
// The best schedule of a partial nest (nest/flatten/split.h) whose tiles the launch itself can
// join.
#pragma once

#include <optional>

#include "schedule/tile_join.h"
#include "search/pick.h"

namespace tilefuse::search {

struct Joinable {
  Candidate partial;
  schedule::TileJoin join;
  double join_seconds = 0; // what the join adds
};

// The candidates best first, and the first that a join fits; nothing when none does. `refusal` gets
// why the best does not.
std::optional<Joinable> pick_joinable(const nest::Nest &partial, const nest::Nest &join,
                                      Searches &searches, std::string *refusal = nullptr);

} // namespace tilefuse::search
