// SPDX-License-Identifier: Apache-2.0
// Whether scheduled groups can be one launch: of parts, schedules and the target alone.
#pragma once

#include <optional>
#include <string>

#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::launch {

// Why the launch cannot run on the target, or nothing when it can. Whether two parts write one
// element is not asked: classes of one statement do not (launch/classes.h).
std::optional<std::string> illegal(const Launch &launch, const Target &target);

// Why a part cannot stand at its place beside the parts of the launch, or nothing when it can;
// for a part whose schedule is legal and which neither reads nor writes what they write. Parts in
// step of groups that take turns may be of any number.
std::optional<std::string> wrong_beside(const Launch &launch, const Part &part,
                                        const Target &target);

// Whether the first part can store the constants of another between its own results: with a matrix
// instruction, each of whose stores stays within one subscript of the dimensions that end sooner.
bool lies_between(const Part &first, const Part &constants);

} // namespace tilefuse::launch
