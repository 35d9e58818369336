// SPDX-License-Identifier: Apache-2.0
// Codings of detectors: where on the model's input a pair of numbers of an output lies, and how large a box is. The
// table in box_coding.cpp has a row for each; docs/recipes.md has it for users.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "detect_recipe.h"

namespace tilefuse::tool {

using Pair = std::array<double, 2>; // across, down

// Where a box is predicted: a cell of a grid, and an anchor's size in pixels.
struct Position {
  double x = 0, y = 0; // cell
  double stride = 1;   // pixels of a cell
  Pair anchor = {1, 1};
};

// What the codings use beside a position.
struct Scene {
  Pair sides; // pixels of the input
  Pair variance;
  Pair unit; // pixels of a coordinate that is read as it is
};

struct Coding {
  std::string_view name;
  bool has_grid;
  bool has_anchors;
  // A place of two numbers, in pixels: a box's centre or first corner, or a point.
  Pair (*place)(const Pair &v, const Position &p, const Scene &s);
  // A box's size of two more; null where they are the place of its other corner.
  Pair (*size)(const Pair &v, const Position &p, const Scene &s);
};

// Left, top, right and bottom of a box's four numbers.
std::array<double, 4> decode_box(const Coding &coding, const std::array<double, 4> &v,
                                 const Position &p, const Scene &s);

// Error{Syntax} where the recipe names none.
const Coding &coding_of(const DetectRecipe &recipe);

// Every cell of every grid with its anchors, row by row, of an input of `width` x `height` pixels; without a grid as
// many as were `predicted`. Error{Syntax} without strides, Error{Shape} where they give another number.
std::vector<Position> positions_of(const DetectRecipe &recipe, const Coding &coding, int width,
                                   int height, std::int64_t predicted);

} // namespace tilefuse::tool
