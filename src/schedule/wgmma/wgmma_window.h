// SPDX-License-Identifier: Apache-2.0
// Windows of data that serve all taps of a tile, and of a step's rows that serve neighbouring taps of
// a filter beside turned data (schedule/mma/core.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/mma/core.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::schedule {

// With a `halo` pipe: rows that are copied to one, for each block where they have rows of their own;
// its elements in local memory, those of each block whole units of alignment; pixels that one
// instruction multiplies; and rows from 8 of them to the next.
std::int64_t window_rows(const Gemm &gemm);
std::int64_t window_elems(const Gemm &gemm);
// Its pixels as a box, where each of its dimensions is a pixel index's; and what is added to such
// an index by the lowest tap.
PixelBox window_box(const Gemm &gemm);
std::int64_t lowest_tap(const Gemm &gemm, IndexId pixel);
std::int64_t window_unit(const Schedule &schedule);
std::int64_t window_lines(const Gemm &gemm);
constexpr std::int64_t kWindowPixels = 8; // of the fastest index
// With a `step_halo` pipe: elements of a window in local memory, whole units of alignment.
std::int64_t halo_elems(const Gemm &gemm);
// Why there is no such window; nothing where there is, or none is asked for.
std::optional<std::string> wrong_window(const Gemm &gemm);

} // namespace tilefuse::schedule
