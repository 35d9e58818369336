// SPDX-License-Identifier: Apache-2.0
// A pointwise map that a copy alone reads is evaluated where the copy reads: both become one map,
// which reads what the map reads at the copy's subscripts.
#pragma once

#include <optional>

#include "poly/group.h"

namespace tilefuse::poly {

// `fused` has one producer, which feeds its anchor. Nothing where that is no map, where the anchor
// does anything but move elements, or where it would evaluate the map more than once an element.
std::optional<PlacedGroup> inline_map(const PlacedGroup &fused);

} // namespace tilefuse::poly
