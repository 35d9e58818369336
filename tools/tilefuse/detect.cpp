// SPDX-License-Identifier: Apache-2.0
#include "detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "open_model.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

constexpr std::size_t kMostCandidates = 4096; // of a picture, that may suppress each other

// Where a box is predicted: a cell of a grid, and an anchor's size in pixels.
struct Position {
  double x = 0, y = 0; // cell
  double stride = 1;   // pixels of a cell
  double width = 1, height = 1;
};

// What the codings use beside a position.
struct Scene {
  double width, height; // pixels of the input
  std::array<double, 2> variance;
  double unit_x, unit_y; // pixels of a coordinate that is read as it is
};

using Raw = std::array<double, 4>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Box around(double x, double y, double width, double height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

// What the four numbers of a box say.
struct Coding {
  std::string_view name;
  bool has_grid;
  bool has_anchors;
  Box (*decode)(const Raw &v, const Position &p, const Scene &s);
};
constexpr Coding kCodings[] = {
    // left, top, right, bottom
    {"corners", false, false,
     [](const Raw &v, const Position &, const Scene &s) {
       return Box{v[0] * s.unit_x, v[1] * s.unit_y, v[2] * s.unit_x, v[3] * s.unit_y};
     }},
    // centre x, centre y, width, height
    {"centers", false, false,
     [](const Raw &v, const Position &, const Scene &s) {
       return around(v[0] * s.unit_x, v[1] * s.unit_y, v[2] * s.unit_x, v[3] * s.unit_y);
     }},
    // centre = (cell + v) strides, size = e^v strides (YOLOX)
    {"grid", true, false,
     [](const Raw &v, const Position &p, const Scene &) {
       return around((p.x + v[0]) * p.stride, (p.y + v[1]) * p.stride, std::exp(v[2]) * p.stride,
                     std::exp(v[3]) * p.stride);
     }},
    // centre = (cell + tanh v) strides, size = sigmoid(v) of the input (FastestDet)
    {"cell", true, false,
     [](const Raw &v, const Position &p, const Scene &s) {
       return around((p.x + std::tanh(v[0])) * p.stride, (p.y + std::tanh(v[1])) * p.stride,
                     sigmoid(v[2]) * s.width, sigmoid(v[3]) * s.height);
     }},
    // centre = (cell + 1/2) strides + variance v anchors, size = e^(variance v) anchors (SSD)
    {"anchors", true, true, [](const Raw &v, const Position &p, const Scene &s) {
       return around((p.x + 0.5) * p.stride + v[0] * s.variance[0] * p.width,
                     (p.y + 0.5) * p.stride + v[1] * s.variance[0] * p.height,
                     p.width * std::exp(v[2] * s.variance[1]),
                     p.height * std::exp(v[3] * s.variance[1]));
     }}};

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

// Some channels of an output as (position, channel), of one picture.
struct View {
  const HostTensor *tensor = nullptr;
  std::int64_t begin = 0, positions = 0, channels = 0;
  std::int64_t position_step = 1, channel_step = 1;
  double at(std::int64_t position, std::int64_t channel) const {
    return program::get(*tensor, begin + position * position_step + channel * channel_step);
  }
};

View view_of(const Channels &part, const DetectRecipe &recipe,
             const std::vector<HostTensor> &outputs, std::int64_t n, std::int64_t pictures) {
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const HostTensor &o) { return o.name == part.output; });
  std::vector<std::string> names;
  for (const HostTensor &output : outputs)
    names.push_back(output.name);
  if (found == outputs.end())
    throw Error(ErrorCode::Shape,
                fmt::format("the model has no output '{}'{}", part.output,
                            did_you_mean(part.output, names)),
                recipe.file, {fmt::format("its outputs: {}", fmt::join(names, ", "))});
  const program::Shape &shape = found->shape;
  const bool is_first = shape.size() == 4 || (shape.size() == 3 && recipe.is_channels_first);
  const std::int64_t all = shape.size() < 2 ? 0 : is_first ? shape[1] : shape.back();
  const std::int64_t end = part.end < 0 ? all : part.end;
  if (all == 0 || end > all || part.first >= end || program::elems(shape) % pictures != 0)
    throw Error(ErrorCode::Shape,
                fmt::format("output '{}' {} has no channels {}..{}", part.output, type_text(*found),
                            part.first, end),
                recipe.file);
  const std::int64_t elements = program::elems(shape) / pictures;
  View view{.tensor = &*found,
            .begin = n * elements,
            .positions = elements / all,
            .channels = end - part.first};
  view.position_step = is_first ? 1 : all;
  view.channel_step = is_first ? view.positions : 1;
  view.begin += part.first * view.channel_step;
  return view;
}

// Every cell of every grid, row by row, with its anchors; a last cell that a side holds in part counts if `is_whole`.
std::vector<Position> positions_of(const DetectRecipe &recipe, const Coding &coding, int width,
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
        if (coding.has_anchors) {
          position.width = recipe.anchors[g][a][0];
          position.height = recipe.anchors[g][a][1];
        }
        all.push_back(position);
      }
  }
  return all;
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
  std::vector<Position> positions = positions_of(recipe, coding, width, height, true);
  if (static_cast<std::int64_t>(positions.size()) != predicted)
    positions = positions_of(recipe, coding, width, height, false);
  if (static_cast<std::int64_t>(positions.size()) != predicted)
    throw Error(ErrorCode::Shape,
                fmt::format("the strides give {} positions of {} x {} pixels, the model has {}",
                            positions.size(), width, height, predicted),
                recipe.file);
  return positions;
}

// The best class of a position, with its score.
Box best_of(const DetectRecipe &recipe, const View &scores, const View *object,
            std::int64_t position) {
  const auto value = [&](const View &view, std::int64_t channel) {
    const double raw = view.at(position, channel);
    return recipe.is_logits ? sigmoid(raw) : raw;
  };
  Box box;
  for (std::int64_t c = 0; c < scores.channels; ++c) {
    const double score = value(scores, c);
    if (c == 0 || score > box.score)
      box.label = c, box.score = score;
  }
  if (object != nullptr)
    box.score *= std::clamp(value(*object, 0), 0.0, 1.0);
  return box;
}

double overlap(const Box &a, const Box &b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0)
    return 0;
  const auto area = [](const Box &box) { return (box.right - box.left) * (box.bottom - box.top); };
  return width * height / (area(a) + area(b) - width * height);
}

std::vector<Box> suppress(std::vector<Box> candidates, const DetectRecipe &recipe) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Box &a, const Box &b) { return a.score > b.score; });
  if (candidates.size() > kMostCandidates)
    candidates.resize(kMostCandidates);
  std::vector<Box> kept;
  for (const Box &box : candidates) {
    const bool is_covered = std::any_of(kept.begin(), kept.end(), [&](const Box &better) {
      return better.label == box.label && overlap(better, box) > recipe.overlap;
    });
    if (!is_covered && static_cast<std::int64_t>(kept.size()) < recipe.most)
      kept.push_back(box);
  }
  return kept;
}

} // namespace

std::int64_t detected_classes(const DetectRecipe &recipe, const std::vector<HostTensor> &outputs) {
  coding_of(recipe);
  if (view_of(recipe.boxes, recipe, outputs, 0, 1).channels != 4)
    throw Error(ErrorCode::Shape, fmt::format("boxes are 4 channels of '{}'", recipe.boxes.output),
                recipe.file);
  if (recipe.object && view_of(*recipe.object, recipe, outputs, 0, 1).channels != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("object is one channel of '{}'", recipe.object->output), recipe.file);
  return view_of(recipe.scores, recipe, outputs, 0, 1).channels;
}

std::vector<Box> detect(const DetectRecipe &recipe, const std::vector<HostTensor> &outputs,
                        std::int64_t n, std::int64_t pictures, int width, int height) {
  const Coding &coding = coding_of(recipe);
  const View boxes = view_of(recipe.boxes, recipe, outputs, n, pictures);
  const View scores = view_of(recipe.scores, recipe, outputs, n, pictures);
  std::optional<View> object;
  if (recipe.object)
    object = view_of(*recipe.object, recipe, outputs, n, pictures);
  if (boxes.positions != scores.positions || (object && object->positions != boxes.positions))
    throw Error(
        ErrorCode::Shape,
        fmt::format("boxes have {} positions, scores {}", boxes.positions, scores.positions),
        recipe.file);
  const std::vector<Position> positions =
      positions_of(recipe, coding, width, height, boxes.positions);
  const Scene scene{double(width), double(height), recipe.variance,
                    recipe.is_fraction ? width : 1.0, recipe.is_fraction ? height : 1.0};
  std::vector<Box> candidates;
  for (std::int64_t p = 0; p < boxes.positions; ++p) {
    const Box best = best_of(recipe, scores, object ? &*object : nullptr, p);
    if (!(best.score >= recipe.threshold))
      continue;
    Box box = coding.decode({boxes.at(p, 0), boxes.at(p, 1), boxes.at(p, 2), boxes.at(p, 3)},
                            positions[static_cast<std::size_t>(p)], scene);
    if (!std::isfinite(box.left + box.top + box.right + box.bottom))
      continue;
    box.label = best.label;
    box.score = best.score;
    candidates.push_back(box);
  }
  return suppress(std::move(candidates), recipe);
}

} // namespace tilefuse::tool
