// SPDX-License-Identifier: Apache-2.0
// Parts in step: kernels with wgmma whose tiles the same blocks take in turn, such as the classes
// of a strided input gradient, whose tiles of one number read the same part of the error and write
// neighbours (lower/launch/in_step.h).
#pragma once

#include <optional>
#include <string>

#include "launch/launch.h"
#include "target/target.h"

namespace tilefuse::launch {

// Why the tiles of a part cannot be taken in step with those of the first; nothing where they can:
// their blocks do the same with tiles of one size, in local memory of the same buffers, between the
// same number of warps, and differ in what a tile reads and how many steps it takes.
std::optional<std::string> out_of_step(const Part &first, const Part &other, const Target &target);

} // namespace tilefuse::launch
