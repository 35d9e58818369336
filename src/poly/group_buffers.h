// SPDX-License-Identifier: Apache-2.0
// Which of a program's buffers a group reads and writes: what exists in its tiles only is none.
#pragma once

#include <optional>
#include <set>

#include "poly/group.h"

namespace tilefuse::poly {

std::set<program::BufferId> read_buffers(const PlacedGroup &placed);
// What its anchor writes.
program::BufferId written_buffer(const PlacedGroup &placed);
// Whether some member stores it.
bool writes(const PlacedGroup &placed, program::BufferId buffer);
// The input of the anchor that alone reads a buffer; nothing where other operands of the group do
// too.
std::optional<int> only_input(const PlacedGroup &placed, program::BufferId buffer);

} // namespace tilefuse::poly
