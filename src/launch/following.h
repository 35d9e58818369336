// SPDX-License-Identifier: Apache-2.0
// Parts that follow: nests with as many results as the nest in front of them, which the same
// work-items compute in the same order. Whoever stored an element reads it again, so that nothing
// else need be waited for, and what both read is fetched once: the next momentum, say, and the
// parameter made of it; a max-pool and its winners; the classes of the gradient of one.
//
//   part blocks      nest map { index r 25021, k 1024 … out 3 … post 0.9*$0 + $1 }
//   part following   nest map { index r 25021, k 1024 … extra 3 … post $0 - 0.1*$1 }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace tilefuse::launch {

// Why a part cannot follow those in front of it in a launch, or nothing when it can: with each result
// it reads of what they write the element of that result alone, and one of them writes something that
// it reads, or is a class of the same statement (launch/classes.h).
std::optional<std::string> cannot_follow(const std::vector<const Part *> &before, const Part &part);

} // namespace tilefuse::launch
