// SPDX-License-Identifier: Apache-2.0
// The rules of legality.h on a group: in closed form where every producer computes each element of
// what its consumer reads at one point, else by isl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poly/group.h"

namespace tilefuse::poly {

// Whether the group's form alone shows that every rule holds. A tensor between members is written
// whole, one element a point, under no constraint (L2, L4, L10), and read where it is staged alone;
// producers stand before what reads them (L3); nothing reads what the anchor writes (L5, L8), which
// is one element a point (L4); nests give the same result however often they run (L9).
bool is_plainly_legal(const Group &group);

// Why the producers of a group may not run in the tiles of its anchor, by isl, or nothing. It may spend
// `quota` operations; one that does not suffice is a reason.
std::optional<std::string> illegal_fusion(const Group &group, std::int64_t quota);

} // namespace tilefuse::poly
