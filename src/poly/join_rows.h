// SPDX-License-Identifier: Apache-2.0
// Finds what stands between two products and makes one group of it (row_group.h): from a product
// backwards through maps and reductions of rows, which nothing else reads, to the product that made
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "program/storage/storage.h"

namespace tilefuse::poly {

// What is found: the group of rows; what it stands for, the consumer and then what makes its rows,
// the last first; why it breaks a rule, or nothing. Says whether it is taken.
using TakesRows = std::function<bool(
    const PlacedGroup &joined, const std::vector<PlacedGroup *> &apart, const std::string &broken)>;

// Groups in an order in which they can run, with the groups of rows that are taken. One stands
// where its anchor did.
std::vector<PlacedGroup> join_rows(std::vector<PlacedGroup> groups,
                                   const program::StoredProgram &stored, const TakesRows &takes);

} // namespace tilefuse::poly
