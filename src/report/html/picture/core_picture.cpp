// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/core_picture.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace tilefuse::report::html {
namespace {

constexpr double kTop = 54;        // below three lines of text
constexpr double kTile = 280;      // the longer side of a tile
constexpr double kNarrowest = 44;  // of a side
constexpr double kFragment = 330;  // where lanes begin
constexpr std::int64_t kRows = 16; // of the result that are shown, and as many columns at most
constexpr double kCellHeight = 18;
constexpr double kCells = 340; // as wide as all columns
constexpr double kWidestCell = 30;
constexpr std::int64_t kMostLines = 40;

std::string_view warp_word(const CoreTiling &tiling) {
  return tiling.is_warpgroup ? "warpgroup" : "warp";
}

// Lines between the parts of a box, none where they would be dense.
void cuts(Markup &out, const Box &in, double rows, double columns) {
  for (double r = 1; r < rows && rows <= kMostLines; ++r)
    line(out, {in.at.x, in.at.y + in.height * r / rows},
         {in.at.x + in.width, in.at.y + in.height * r / rows}, "cut");
  for (double c = 1; c < columns && columns <= kMostLines; ++c)
    line(out, {in.at.x + in.width * c / columns, in.at.y},
         {in.at.x + in.width * c / columns, in.at.y + in.height}, "cut");
}

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<std::int64_t>(1, b));
}

// Boxes of the warps, each with its number; instructions of the first.
void warps(Markup &out, const CoreTiling &tiling, Point at) {
  const double longer = static_cast<double>(std::max(tiling.tile.rows, tiling.tile.columns));
  const double width =
      std::max(kNarrowest, kTile * static_cast<double>(tiling.tile.columns) / longer);
  const double height =
      std::max(kNarrowest, kTile * static_cast<double>(tiling.tile.rows) / longer);
  const std::int64_t down = tiling.tile.rows / std::max<std::int64_t>(1, tiling.warp.rows);
  const std::int64_t across = tiling.tile.columns / std::max<std::int64_t>(1, tiling.warp.columns);
  const Box each{at, width / static_cast<double>(across), height / static_cast<double>(down)};
  for (std::int64_t r = 0; r < down; ++r)
    for (std::int64_t c = 0; c < across; ++c) {
      const Point corner = {at.x + each.width * static_cast<double>(c),
                            at.y + each.height * static_cast<double>(r)};
      const bool is_first = r == 0 && c == 0;
      box(out, {corner, each.width - 1, each.height - 1},
          is_first           ? "first"
          : (r + c) % 2 == 0 ? "even"
                             : "odd");
      if (!is_first && each.height >= 14)
        label(out, {corner.x + each.width / 2, corner.y + each.height / 2 + 4},
              fmt::format("{}", r * across + c), "mid small");
    }
  const Box first{at, each.width - 1, each.height - 1};
  cuts(out, first, ratio(tiling.warp.rows, tiling.atom.rows),
       ratio(tiling.warp.columns, tiling.atom.columns));
  const Box one{
      at, std::min(first.width, first.width * ratio(tiling.atom.columns, tiling.warp.columns)),
      std::min(first.height, first.height * ratio(tiling.atom.rows, tiling.warp.rows))};
  cuts(out, one, ratio(tiling.atom.rows, tiling.atom_of_warp.rows),
       ratio(tiling.atom.columns, tiling.atom_of_warp.columns));
  box(out, one, "window", "one instruction");
}

void tile_text(Markup &out, const CoreTiling &tiling, Point at) {
  const std::int64_t down = tiling.tile.rows / std::max<std::int64_t>(1, tiling.warp.rows);
  const std::int64_t across = tiling.tile.columns / std::max<std::int64_t>(1, tiling.warp.columns);
  label(out, {at.x, 14},
        fmt::format("a tile: {} points by {} channels", tiling.tile.rows, tiling.tile.columns));
  label(out, {at.x, 30},
        fmt::format("{} x {} {}{} of {} x {}{}{}", down, across, warp_word(tiling),
                    down * across == 1 ? "" : "s", tiling.warp.rows, tiling.warp.columns,
                    tiling.is_warpgroup ? ", each 4 warps" : "",
                    tiling.instances > 1 ? fmt::format("; {} in turn", tiling.instances) : ""),
        "small");
  label(out, {at.x, 45},
        fmt::format("dashed: one {}; a step sums {}", tiling.instruction, tiling.depth), "small");
}

// Lanes of the first points of an instruction's result, those of lane 0 marked.
void lanes(Markup &out, const CoreTiling &tiling, Point at) {
  const std::int64_t rows = std::min(kRows, tiling.atom.rows);
  const std::int64_t columns = std::min(kRows, tiling.atom.columns);
  const double width = std::min(kWidestCell, kCells / static_cast<double>(columns));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const int lane = tiling.lanes[static_cast<std::size_t>(r * tiling.atom.columns + c)];
      const Point corner = {at.x + width * static_cast<double>(c),
                            at.y + kCellHeight * static_cast<double>(r)};
      box(out, {corner, width - 1, kCellHeight - 1},
          lane == 0                    ? "mine"
          : (lane / 4 + lane) % 2 == 0 ? "even"
                                       : "odd");
      label(out, {corner.x + width / 2, corner.y + 13}, fmt::format("{}", lane),
            lane == 0 ? "mid small onmine" : "mid small");
    }
  label(out, {at.x, 14},
        fmt::format("lanes of {}instruction's {} x {} results",
                    rows < tiling.atom.rows || columns < tiling.atom.columns
                        ? fmt::format("the first {} x {} of an ", rows, columns)
                        : "an ",
                    tiling.atom.rows, tiling.atom.columns));
  label(out, {at.x, 30}, "marked: registers of lane 0", "small");
  if (tiling.vec > 1)
    label(out, {at.x, 45},
          fmt::format("channels are dealt so that a lane stores {} neighbours", tiling.vec),
          "small");
}

} // namespace

void core_tile(Markup &out, const CoreTiling &tiling, Point at) {
  tile_text(out, tiling, at);
  warps(out, tiling, {at.x, at.y + kTop});
  lanes(out, tiling, {at.x + kFragment, at.y + kTop});
}

} // namespace tilefuse::report::html
