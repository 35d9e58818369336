// SPDX-License-Identifier: Apache-2.0
// The tiles of wgmma that are worth trying, larger ones first: rows, columns of one instruction,
// and the groups of four warps that share them.
//
//   {256, 128, 2, 1}     256 rows by two groups of 128, all of 128 columns
//   {128, 128, 1, 1, 2}  128 x 128 by one group, of two that take tiles in turn
#pragma once

#include <array>
#include <cstdint>

namespace tilefuse::search {

// Of a tile; an instruction's columns are of the tile's columns, or of its rows where swapped.
struct TileSizes {
  std::int64_t rows, op_columns, group_rows, group_columns;
  int turns = 1;
};

inline constexpr auto kSizes = std::to_array<TileSizes>({
    {256, 128, 2, 1},   {128, 256, 2, 1},   {192, 128, 3, 1}, {128, 128, 1, 1, 2},
    {64, 256, 1, 1, 2}, {256, 64, 1, 1, 2}, {128, 192, 2, 1}, {128, 128, 2, 1},
    {256, 64, 2, 1},    {192, 64, 3, 1},    {256, 96, 2, 1},  {128, 96, 2, 1},
    {64, 256, 1, 1},    {64, 192, 1, 1},    {128, 64, 2, 1},  {128, 64, 1, 1, 2},
    {64, 128, 1, 1},    {64, 128, 1, 1, 2}, {256, 32, 2, 1},  {128, 32, 2, 1},
    {64, 64, 1, 1},     {64, 32, 1, 1},     {128, 16, 2, 1},  {64, 16, 1, 1},
});
// Points in tens of ways: images of 7, 14 and 28 each way are whole tiles of them, or nearly.
inline constexpr auto kSwappedSizes = std::to_array<TileSizes>({
    {256, 64, 1, 1}, {224, 64, 1, 1}, {112, 64, 1, 2}, {208, 64, 1, 1}, {200, 64, 1, 1},
    {192, 64, 1, 1}, {56, 64, 1, 2},  {128, 64, 1, 1}, {112, 64, 1, 1}, {104, 64, 1, 1},
    {96, 64, 1, 1},  {80, 64, 1, 1},  {64, 64, 1, 1},  {56, 64, 1, 1},  {48, 64, 1, 1},
    {40, 64, 1, 1},  {32, 64, 1, 1},  {24, 64, 1, 1},  {16, 64, 1, 1},
});
// Of windows, which serve 64 rows, or all columns where swapped, from one image.
inline constexpr auto kWindowSizes = std::to_array<TileSizes>({
    {256, 128, 2, 1},
    {128, 256, 2, 1},
    {128, 128, 1, 1, 2},
    {128, 128, 2, 1},
    {256, 64, 2, 1},
    {256, 64, 1, 1, 2},
    {192, 64, 3, 1},
    {128, 64, 1, 1, 2},
    {128, 64, 2, 1},
    {64, 128, 1, 1, 2},
    {64, 64, 1, 1, 2},
    {64, 64, 1, 1},
    {128, 32, 1, 1, 2},
});
inline constexpr auto kSwappedWindowSizes = std::to_array<TileSizes>({
    {224, 64, 1, 1, 2},
    {112, 64, 1, 1, 2},
    {112, 64, 1, 2},
    {56, 64, 1, 1, 2},
    {56, 64, 1, 2},
    {112, 64, 1, 1},
    {56, 64, 1, 1},
});

} // namespace tilefuse::search
