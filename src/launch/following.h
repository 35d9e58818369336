// SPDX-License-Identifier: Apache-2.0
// Parts that follow: maps over the same points as the map in front of them, by its schedule, of which
// they read the results. Whoever stored an element reads it again, so that nothing else need be
// waited for and what both read is fetched once: the next momentum, say, and the parameter made of it.
//
//   part blocks      nest map { index r 25021, k 1024 … out 3 … post 0.9*$0 + $1 }
//   part following   nest map { index r 25021, k 1024 … extra 3 … post $0 - 0.1*$1 }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace tilefuse::launch {

// Why a part cannot follow those in front of it in a launch, or nothing when it can: at each point it reads of what
// they write the element of that point alone, and one of them writes something that it reads.
std::optional<std::string> cannot_follow(const std::vector<const Part *> &before, const Part &part);

} // namespace tilefuse::launch
