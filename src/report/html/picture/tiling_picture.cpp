// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/tiling_picture.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "report/html/picture/core_picture.h"
#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kPictureWidth = 700;
constexpr double kPlane = 230;    // the longer side of the whole
constexpr double kBlock = 280;    // the longer side of a block
constexpr double kMargin = 24;    // for windows that reach out
constexpr double kRight = 380;    // where the block begins
constexpr double kNarrowest = 26; // of a side
constexpr std::int64_t kMostLines = 48;
constexpr std::int64_t kMostCells = 20; // of a side
constexpr int kLargestCell = 28;        // pixels
constexpr double kHeight = 44 + kBlock + 2 * kMargin + 6;
constexpr double kCoreLeft = 330; // where the tile of matrix instructions begins
static_assert(kHeight >= kCoreTileHeight);

// Sides of a picture of so many points, in proportion but neither a thread.
Box sides(double columns, double rows, double room) {
  const double longer = std::max(columns, rows);
  return {{},
          std::max(kNarrowest, room * columns / longer),
          std::max(kNarrowest, room * rows / longer)};
}

std::string index_text(const TiledIndex &index) {
  return fmt::format("{} {}: {} block{} of {}", index.name, index.extent, index.blocks,
                     index.blocks == 1 ? "" : "s", std::min(index.extent, index.split.of_block()));
}

// Lines between blocks, thinned out where there are too many.
void block_lines(Markup &out, const TiledIndex &index, const Box &plane, bool is_across) {
  const std::int64_t step = index.blocks / kMostLines + 1;
  for (std::int64_t b = step; b < index.blocks; b += step) {
    const double part =
        static_cast<double>(b * index.split.of_block()) / static_cast<double>(index.extent);
    const double x = plane.at.x + plane.width * part;
    const double y = plane.at.y + plane.height * part;
    if (is_across)
      line(out, {x, plane.at.y}, {x, plane.at.y + plane.height}, "cut");
    else
      line(out, {plane.at.x, y}, {plane.at.x + plane.width, y}, "cut");
  }
}

// From where and how far the first block's window reaches along one side, in pixels: half of what
// it has beyond its points lies on either side.
std::pair<double, double> window_side(const TiledIndex &index, double pixels) {
  const double points = static_cast<double>(std::min(index.extent, index.split.of_block()));
  const double scale = pixels / static_cast<double>(index.extent);
  const double window = index.window == 0
                            ? points
                            : static_cast<double>(index.window) /
                                  static_cast<double>(std::max<std::int64_t>(1, index.input_step));
  const double beyond = std::min((window - points) / 2 * scale, kMargin - 4);
  return {-beyond, points * scale + 2 * beyond};
}

void whole(Markup &out, const Tiling &tiling) {
  Box plane = sides(static_cast<double>(tiling.columns.extent),
                    static_cast<double>(tiling.rows.extent), kPlane);
  plane.at = {kMargin, 44 + kMargin};
  box(out, plane, "plane");
  block_lines(out, tiling.columns, plane, true);
  block_lines(out, tiling.rows, plane, false);
  const auto part = [](const TiledIndex &index) {
    return std::min(1.0, static_cast<double>(index.split.of_block()) /
                             static_cast<double>(index.extent));
  };
  box(out, {plane.at, plane.width * part(tiling.columns), plane.height * part(tiling.rows)},
      "first", "the first block");
  if (tiling.input >= 0) {
    const auto [left, width] = window_side(tiling.columns, plane.width);
    const auto [above, height] = window_side(tiling.rows, plane.height);
    box(out, {{plane.at.x + left, plane.at.y + above}, width, height}, "window",
        fmt::format("what it reads of input {}", tiling.input));
  }
  label(out, {0, 14}, fmt::format("the result, {} blocks", tiling.blocks));
  label(out, {0, 30}, index_text(tiling.columns) + " across", "small");
  label(out, {0, 44}, tiling.rows.extent > 1 ? index_text(tiling.rows) + " down" : "", "small");
}

// A point's class: one lane's registers, or lanes in turn.
std::string cell_class(const Tiling &tiling, std::int64_t row, std::int64_t column) {
  const std::int64_t lane =
      tiling.rows.lane_of(row) * std::max<std::int64_t>(1, tiling.columns.split.lane) +
      tiling.columns.lane_of(column);
  const std::int64_t step_row = row / std::max<std::int64_t>(1, tiling.rows.split.step());
  const std::int64_t step_column = column / std::max<std::int64_t>(1, tiling.columns.split.step());
  if (lane == 0 && step_row == 0 && step_column == 0)
    return "mine";
  const bool is_dark = (tiling.rows.lane_of(row) + tiling.columns.lane_of(column)) % 2 != 0;
  const bool is_other_step = (step_row + step_column) % 2 != 0;
  return fmt::format("{}{}", is_dark ? "odd" : "even", is_other_step ? " later" : "");
}

// One path for all points of a class; those beside each other in a row are one box of it.
void block_cells(Markup &out, const Tiling &tiling, Point at, int size, std::int64_t rows,
                 std::int64_t columns) {
  std::map<std::string, std::string> paths;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns;) {
      const std::string css = cell_class(tiling, r, c);
      std::int64_t end = c + 1;
      while (end < columns && cell_class(tiling, r, end) == css)
        ++end;
      const std::int64_t width = (end - c) * size - 1;
      paths[css] += fmt::format("M{} {}h{}v{}h-{}z", at.x + static_cast<double>(c * size),
                                at.y + static_cast<double>(r * size), width, size - 1, width);
      c = end;
    }
  for (const auto &[css, path] : paths)
    out.leaf("path", {{"d", path}, {"class", css}});
}

std::string lanes_text(const TiledIndex &index) {
  const schedule::Split &split = index.split;
  std::string text =
      fmt::format("{}: {} lane{}, {} register cop{}", index.name, split.lane,
                  split.lane == 1 ? "" : "s", split.keep, split.keep == 1 ? "y" : "ies");
  return split.vec > 1 ? text + fmt::format(", vectors of {}", split.vec) : text;
}

void block(Markup &out, const Tiling &tiling) {
  const std::int64_t all_rows = std::min(tiling.rows.extent, tiling.rows.split.of_block());
  const std::int64_t all_columns = std::min(tiling.columns.extent, tiling.columns.split.of_block());
  const std::int64_t rows = std::min(all_rows, kMostCells);
  const std::int64_t columns = std::min(all_columns, kMostCells);
  const int size = static_cast<int>(kBlock / static_cast<double>(std::max(rows, columns)));
  block_cells(out, tiling, {kRight, 44 + 10}, std::min(size, kLargestCell), rows, columns);
  const bool is_part = rows < all_rows || columns < all_columns;
  label(out, {kRight, 14},
        is_part ? fmt::format("the first {} x {} points of a block; marked: registers of one lane",
                              rows, columns)
                : "a block; marked: registers of one lane");
  label(out, {kRight, 30}, lanes_text(tiling.columns), "small");
  label(out, {kRight, 44}, tiling.rows.extent > 1 ? lanes_text(tiling.rows) : "", "small");
}

std::string window_text(const TiledIndex &index) {
  return index.window == 0
             ? ""
             : fmt::format("{} of {} along {}", std::min(index.window, index.input_size),
                           index.input_size, index.name);
}

} // namespace

void tiling_picture(Markup &out, const Tiling &tiling) {
  open_picture(out, kHeight, "How the result is dealt out",
               tiling.core ? kCoreLeft + kCoreTileWidth : kPictureWidth);
  whole(out, tiling);
  if (tiling.core)
    core_tile(out, *tiling.core, {kCoreLeft, 0});
  else
    block(out, tiling);
  const std::string rows = window_text(tiling.rows);
  const std::string columns = window_text(tiling.columns);
  if (!rows.empty() || !columns.empty())
    label(
        out, {0, kHeight - 6},
        fmt::format("dashed: a block reads {}{}{} of input {}, what is outside the tensor left out",
                    rows, !rows.empty() && !columns.empty() ? " and " : "", columns, tiling.input),
        "small");
  out.close();
}

} // namespace tilefuse::report::html
