// SPDX-License-Identifier: Apache-2.0
#include "box_coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace tilefuse::tool {
namespace {

Pair each(const Pair &v, const auto &f) { return {f(v[0], 0), f(v[1], 1)}; }

Pair read_as_it_is(const Pair &v, const Position &, const Scene &s) {
  return each(v, [&](double x, std::size_t i) { return x * s.unit[i]; });
}

constexpr Coding kCodings[] = {
    // left, top, right, bottom
    {"corners", false, false, read_as_it_is, nullptr},
    // centre x, centre y, width, height
    {"centers", false, false, read_as_it_is, read_as_it_is},
    // centre = (cell + v) strides, size = e^v strides (YOLOX)
    {"grid", true, false,
     [](const Pair &v, const Position &p, const Scene &) -> Pair {
       return {(p.x + v[0]) * p.stride, (p.y + v[1]) * p.stride};
     },
     [](const Pair &v, const Position &p, const Scene &) {
       return each(v, [&](double x, std::size_t) { return std::exp(x) * p.stride; });
     }},
    // centre = (cell + tanh v) strides, size = sigmoid(v) of the input (FastestDet)
    {"cell", true, false,
     [](const Pair &v, const Position &p, const Scene &) -> Pair {
       return {(p.x + std::tanh(v[0])) * p.stride, (p.y + std::tanh(v[1])) * p.stride};
     },
     [](const Pair &v, const Position &, const Scene &s) {
       return each(v, [&](double x, std::size_t i) { return s.sides[i] / (1 + std::exp(-x)); });
     }},
    // centre = (cell + 1/2) strides + variance v anchors, size = e^(variance v) anchors (SSD)
    {"anchors", true, true,
     [](const Pair &v, const Position &p, const Scene &s) -> Pair {
       return {(p.x + 0.5) * p.stride + v[0] * s.variance[0] * p.anchor[0],
               (p.y + 0.5) * p.stride + v[1] * s.variance[0] * p.anchor[1]};
     },
     [](const Pair &v, const Position &p, const Scene &s) {
       return each(
           v, [&](double x, std::size_t i) { return p.anchor[i] * std::exp(x * s.variance[1]); });
     }}};

// Every cell of every grid, row by row, with its anchors; a last cell that a side holds in part counts if `is_whole`.
std::vector<Position> cells_of(const DetectRecipe &recipe, const Coding &coding, int width,
                               int height, bool is_whole) {
  std::vector<Position> all;
  for (std::size_t g = 0; g < recipe.strides.size(); ++g) {
    const std::int64_t stride = recipe.strides[g];
    const std::int64_t columns = (width + (is_whole ? stride - 1 : 0)) / stride;
    const std::int64_t rows = (height + (is_whole ? stride - 1 : 0)) / stride;
    const std::size_t anchors = coding.has_anchors ? recipe.anchors[g].size() : 1;
    for (std::int64_t i = 0; i < rows * columns; ++i)
      for (std::size_t a = 0; a < anchors; ++a) {
        Position position{double(i % columns), double(i / columns), double(stride)};
        if (coding.has_anchors)
          position.anchor = recipe.anchors[g][a];
        all.push_back(position);
      }
  }
  return all;
}

} // namespace

std::array<double, 4> decode_box(const Coding &coding, const std::array<double, 4> &v,
                                 const Position &p, const Scene &s) {
  const Pair first = coding.place({v[0], v[1]}, p, s);
  if (coding.size == nullptr) {
    const Pair other = coding.place({v[2], v[3]}, p, s);
    return {first[0], first[1], other[0], other[1]};
  }
  const Pair size = coding.size({v[2], v[3]}, p, s);
  return {first[0] - size[0] / 2, first[1] - size[1] / 2, first[0] + size[0] / 2,
          first[1] + size[1] / 2};
}

const Coding &coding_of(const DetectRecipe &recipe) {
  std::vector<std::string> names;
  for (const Coding &coding : kCodings) {
    if (coding.name == recipe.coding)
      return coding;
    names.emplace_back(coding.name);
  }
  throw Error(ErrorCode::Syntax,
              fmt::format("'{}' is no coding of boxes{}", recipe.coding,
                          did_you_mean(recipe.coding, names)),
              recipe.file, {fmt::format("codings are {}", fmt::join(names, ", "))});
}

std::vector<Position> positions_of(const DetectRecipe &recipe, const Coding &coding, int width,
                                   int height, std::int64_t predicted) {
  if (!coding.has_grid)
    return std::vector<Position>(static_cast<std::size_t>(predicted));
  if (recipe.strides.empty() ||
      (coding.has_anchors && recipe.anchors.size() != recipe.strides.size()))
    throw Error(ErrorCode::Syntax,
                fmt::format("coding '{}' needs strides{}", coding.name,
                            coding.has_anchors ? ", and anchors with a list for each of them" : ""),
                recipe.file);
  std::vector<Position> positions = cells_of(recipe, coding, width, height, true);
  if (static_cast<std::int64_t>(positions.size()) != predicted)
    positions = cells_of(recipe, coding, width, height, false);
  if (static_cast<std::int64_t>(positions.size()) != predicted)
    throw Error(ErrorCode::Shape,
                fmt::format("the strides give {} positions of {} x {} pixels, the model has {}",
                            positions.size(), width, height, predicted),
                recipe.file);
  return positions;
}

} // namespace tilefuse::tool
