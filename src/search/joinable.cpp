// SPDX-License-Identifier: Apache-2.0
#include "search/joinable.h"

#include "cost/tile_join.h"
#include "target/tickets.h"

namespace tilefuse::search {
namespace {

constexpr std::size_t kTried = 64;

} // namespace

std::optional<Joinable> pick_joinable(const nest::Nest &partial, const nest::Nest &join,
                                      Searches &searches, std::string *refusal) {
  const Target &target = searches.target();
  if (tickets(target) == Tickets::None)
    return std::nullopt;
  for (Candidate &candidate : searches.candidates(partial, kTried)) {
    schedule::TileJoin made = tile_join(partial, candidate.schedule, join, target);
    if (made.refusal.empty()) {
      const double seconds =
          cost::tile_join_seconds(made, group_size(candidate.schedule), target.rates);
      return Joinable{std::move(candidate), std::move(made), seconds};
    }
    if (refusal != nullptr && refusal->empty())
      *refusal = made.refusal;
  }
  return std::nullopt;
}

} // namespace tilefuse::search
