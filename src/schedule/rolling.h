// SPDX-License-Identifier: Apache-2.0
// Rows that are computed once although several tiles read them. A block takes tiles of one output
// index of the anchor (`slide y:7`) one behind the other. What a produced input holds for a tile
// overlaps with what the next tile needs: those rows stay in its buffer, moved to its beginning,
// and the producer computes the others.
//
//   tile     0        1            buffer of 6 rows, of which a tile of 4 leaves 2
//   rows   -1 … 4   3 … 8          first tile: all; later ones: move 2, compute 4
//
// `slide y:1` in the schedule of a producer says along which of its indices its rows stay. Rows
// outside the tensor are not computed (others are moved inside, schedule/members.h), so that rows
// of its own produced inputs may stay as well: it takes rows from where it is told, in steps, and
// what is left row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// The index along which a member's tiles roll, if any.
std::optional<IndexId> rolled_index(const Schedule &schedule);
// The dimension of a staging tile that moves with that index, or -1; -2 where several do.
int rolled_dim(const nest::Nest &nest, const Schedule &schedule, int input);

// How the tiles of a member roll.
struct Rolling {
  std::optional<IndexId> index = std::nullopt; // of the member; none: they do not
  std::int64_t advance = 0;                    // its points from one tile to the next
  double tiles = 1;                            // of a block, on average
  double blocks = 1;                           // along the index
  std::int64_t rows = 0;                       // of the member's whole
  // Of a tile of the member's: rows that stay for the next one; of an average tile, the shares that
  // are moved and computed.
  std::int64_t kept(const nest::Nest &tile) const;
  double moved(const nest::Nest &tile) const;
  double computed(const nest::Nest &tile) const;
  friend bool operator==(const Rolling &, const Rolling &) = default;
};

// Of the anchor, and of any member. Requires a legal schedule.
Rolling rolling(const nest::Nest &anchor, const Schedule &schedule);
Rolling rolling(const poly::Group &group, const Schedule &schedule, poly::MemberId member);
// Of a producer, given its consumer's; nothing, and why, where its rows cannot stay.
std::optional<Rolling> follow(const poly::Group &group, const nest::Nest &consumer,
                              const Schedule &own, const Rolling &by, poly::MemberId producer,
                              std::string *why = nullptr);

// Why a member's tiles cannot roll as its schedule says, or nothing. `nests` as they run.
std::optional<std::string> wrong_roll(const poly::Group &group,
                                      const std::vector<nest::Nest> &nests,
                                      const Schedule &schedule, poly::MemberId member);

} // namespace tilefuse::schedule
