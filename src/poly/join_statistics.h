// SPDX-License-Identifier: Apache-2.0
// Finds maps of rows and the statistics that they read, such as the mean and the variance of a
// normalisation, and makes one group of each:
//
//   group
//   anchor nest map { … }                    Y[r, k] = (X[r, k] - M[r]) / sqrt(V[r]) …
//   produce input 1 of 0 slots …
//   nest reduce { … }                        M[r] = sum_k X[r, k]
//   produce input 2 of 0 slots …
//   nest gemm { … }                          V[r] = sum_k (X[r, k] - M[r])^2
//   produce input 1 of 2 slots …
//   nest reduce { … }                        M[r] once more, for V
//
// The map becomes a term of inputs (nest::maps_inputs), whose statistics are then staged as what any
// producer makes: for each tile of whole rows, in local memory. A statistic that several members
// read is computed for each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "program/storage/storage.h"

namespace tilefuse::poly {

// A map as a term of what it reads, which lies in inputs; nothing where it is no map or its
// arithmetic is not all in one type.
std::optional<nest::Nest> as_inputs(const nest::Nest &map);

// What is found: the group of all; what it stands for, the map and then its statistics, the last
// first; why it breaks a rule, or nothing. Says whether it is taken.
using TakesStatistics = std::function<bool(
    const PlacedGroup &joined, const std::vector<PlacedGroup *> &apart, const std::string &broken)>;

// Groups in an order in which they can run, with the maps that are taken. One stands where it did.
// `most_keys`: elements of the longest row.
std::vector<PlacedGroup> join_statistics(std::vector<PlacedGroup> groups,
                                         const program::StoredProgram &stored,
                                         std::int64_t most_keys, const TakesStatistics &takes);

} // namespace tilefuse::poly
