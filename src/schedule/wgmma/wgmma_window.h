// SPDX-License-Identifier: Apache-2.0
// Windows of data that serve all taps of a tile (wgmma.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::schedule {

// With `window`: rows that are copied to one, for each block where they have rows of their own;
// its elements in local memory, those of each block whole units of alignment; pixels that one
// instruction multiplies; and rows from 8 of them to the next.
std::int64_t window_rows(const nest::Nest &nest, const Schedule &schedule);
std::int64_t window_elems(const nest::Nest &nest, const Schedule &schedule);
// Its pixels as a box, where each of its dimensions is a pixel index's; and what is added to such
// an index by the lowest tap.
PixelBox window_box(const nest::Nest &nest, const Schedule &schedule);
std::int64_t lowest_tap(const nest::Nest &nest, const Schedule &schedule, int pixel);
std::int64_t window_unit(const Schedule &schedule);
std::int64_t window_lines(const nest::Nest &nest, const Schedule &schedule);
constexpr std::int64_t kWindowPixels = 8; // of the fastest index
// Why there is no such window; nothing where there is, or none is asked for.
std::optional<std::string> wrong_window(const nest::Nest &nest, const Schedule &schedule,
                                        const CoreRoles &roles);

} // namespace tilefuse::schedule
