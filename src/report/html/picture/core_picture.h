// SPDX-License-Identifier: Apache-2.0
// The tile of a block that matrix instructions compute: its warps or warpgroups, the instructions of
// the first, and the lanes that hold the first points of an instruction's result.
#pragma once

#include "report/html/markup.h"
#include "report/html/picture/svg.h"
#include "report/page/core_tiling.h"

namespace tilefuse::report::html {

// Within a picture, its left upper corner at `at`.
void core_tile(Markup &out, const CoreTiling &tiling, Point at);
constexpr double kCoreTileWidth = 680;
constexpr double kCoreTileHeight = 350;

} // namespace tilefuse::report::html
