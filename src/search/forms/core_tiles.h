// SPDX-License-Identifier: Apache-2.0
// Tiles of matrix instructions, of mma and of wgmma: those that are worth trying, the form of a
// schedule that all of them share, and which forms are worth a prediction. A tile is rows, columns,
// the warps that share them (with wgmma warpgroups), how many of these groups take tiles in turn, and
// whether the instruction's rows are channels.
//
//   {256, 128, 2, 1}     256 rows by two groups of 128, all of 128 columns
//   {128, 128, 1, 1, 2}  128 x 128 by one group, of two that take tiles in turn
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schedule/mma/core.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::search {

// A block's tile, bytes of a step's depth, and buffers of the inputs.
struct TileSizes {
  std::int64_t rows = 0, columns = 0, warp_rows = 1, warp_columns = 1;
  int turns = 1;
  bool swap_ab = false;
  std::int64_t row_bytes = 64;
  int stages = 2;
};

// Tiles worth trying, larger ones first, and how wide rows of them are.
inline constexpr std::array<std::int64_t, 3> kRowBytes = {128, 64, 32};

// Of mma. Warps of 64 x 64 results need 128 accumulators a work-item; smaller ones are for few
// blocks and few channels.
inline constexpr auto kWarpTiles = std::to_array<TileSizes>({
    {256, 128, 4, 2},
    {128, 256, 2, 4},
    {128, 128, 2, 2},
    {256, 64, 4, 1},
    {64, 256, 1, 4},
    {128, 64, 2, 2},
    {64, 128, 2, 2},
    {64, 64, 2, 2},
    {128, 32, 4, 1},
    {32, 128, 1, 4},
    {64, 32, 2, 1},
    {32, 32, 2, 1},
});
inline constexpr std::array kWarpStages = {4, 3, 2};

// Of wgmma.
inline constexpr auto kGroupTiles = std::to_array<TileSizes>({
    {256, 128, 2, 1},   {128, 256, 2, 1},   {192, 128, 3, 1}, {128, 128, 1, 1, 2},
    {64, 256, 1, 1, 2}, {256, 64, 1, 1, 2}, {128, 192, 2, 1}, {128, 128, 2, 1},
    {256, 64, 2, 1},    {192, 64, 3, 1},    {256, 96, 2, 1},  {128, 96, 2, 1},
    {64, 256, 1, 1},    {64, 192, 1, 1},    {128, 64, 2, 1},  {128, 64, 1, 1, 2},
    {64, 128, 1, 1},    {64, 128, 1, 1, 2}, {256, 32, 2, 1},  {128, 32, 2, 1},
    {64, 64, 1, 1},     {64, 32, 1, 1},     {128, 16, 2, 1},  {64, 16, 1, 1},
});
// Points in tens of ways: images of 7, 14 and 28 each way are whole tiles of them, or nearly. Wide
// ones are for filter gradients of few errors, whose wide side registers then hold.
inline constexpr auto kSwappedTiles = std::to_array<TileSizes>({
    {256, 64, 1, 1, 1, true}, {224, 64, 1, 1, 1, true}, {112, 128, 1, 2, 1, true},
    {208, 64, 1, 1, 1, true}, {200, 64, 1, 1, 1, true}, {192, 64, 1, 1, 1, true},
    {56, 128, 1, 2, 1, true}, {128, 64, 1, 1, 1, true}, {112, 64, 1, 1, 1, true},
    {104, 64, 1, 1, 1, true}, {96, 64, 1, 1, 1, true},  {80, 64, 1, 1, 1, true},
    {64, 64, 1, 1, 1, true},  {56, 64, 1, 1, 1, true},  {48, 64, 1, 1, 1, true},
    {40, 64, 1, 1, 1, true},  {32, 64, 1, 1, 1, true},  {24, 64, 1, 1, 1, true},
    {16, 64, 1, 1, 1, true},  {64, 256, 1, 2, 1, true}, {64, 192, 1, 3, 1, true},
});
// Of windows, which serve 64 rows, or all columns where swapped, from one image.
inline constexpr auto kWindowTiles = std::to_array<TileSizes>({
    {256, 128, 2, 1},          {128, 256, 2, 1},         {128, 128, 1, 1, 2},
    {128, 128, 2, 1},          {256, 64, 2, 1},          {256, 64, 1, 1, 2},
    {192, 64, 3, 1},           {128, 64, 1, 1, 2},       {128, 64, 2, 1},
    {64, 128, 1, 1, 2},        {64, 64, 1, 1, 2},        {64, 64, 1, 1},
    {128, 32, 1, 1, 2},        {224, 64, 1, 1, 2, true}, {112, 64, 1, 1, 2, true},
    {112, 128, 1, 2, 1, true}, {56, 64, 1, 1, 2, true},  {56, 128, 1, 2, 1, true},
    {112, 64, 1, 1, 1, true},  {56, 64, 1, 1, 1, true},  {256, 16, 1, 1, 2},
    {256, 16, 2, 1},           {128, 16, 1, 1, 2},
});

// Of windows of a filter's taps, one for each group along the columns: as wide as its taps are.
inline constexpr auto kStepHaloTiles = std::to_array<TileSizes>({
    {64, 0, 1, 3},
    {64, 0, 1, 2},
    {128, 0, 2, 1},
    {192, 0, 3, 1},
    {64, 0, 1, 1, 2},
    {64, 0, 1, 1},
});

// The form of a tile: output indices in the order of the result and the depth innermost, a depth of
// several indices in the order of memory. Not checked for legality. Requires no_core_roles to give
// no reason.
Schedule core_form(const Nest &nest, const CoreOp &op, std::string_view name,
                   const TileSizes &sizes);

// Whether the schedule is legal, its tiles are not mostly padding, and the target's compiler keeps
// its registers (target/quirks.h).
bool pays(const Nest &nest, const Schedule &schedule, const Target &target);

// Why an algorithm has no schedule, by one that does not pay.
NamedSchedule misfit(std::string_view name, const Nest &nest, const Schedule &last,
                     const Target &target);

} // namespace tilefuse::search
