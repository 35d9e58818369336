// SPDX-License-Identifier: Apache-2.0
// The rules of legality.h on a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poly/group.h"

namespace tilefuse::poly {

// Why the producers of a group may not run in the tiles of its anchor, or nothing. isl may spend
// `quota` operations; one that does not suffice is a reason.
std::optional<std::string> illegal_fusion(const Group &group, std::int64_t quota);

} // namespace tilefuse::poly
