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

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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

// Of one picture, what the recipe names.
struct Views {
  std::optional<View> boxes, scores, object, points;
  std::int64_t positions = 0;
};

Views views_of(const DetectRecipe &recipe, const std::vector<HostTensor> &outputs, std::int64_t n,
               std::int64_t pictures) {
  Views views;
  std::string first;
  const auto see = [&](const std::optional<Channels> &part) {
    std::optional<View> view;
    if (!part)
      return view;
    view = view_of(*part, recipe, outputs, n, pictures);
    if (views.positions != 0 && view->positions != views.positions)
      throw Error(ErrorCode::Shape,
                  fmt::format("output '{}' has {} positions, '{}' has {}", first, views.positions,
                              part->output, view->positions),
                  recipe.file);
    views.positions = view->positions;
    first = part->output;
    return view;
  };
  views.boxes = see(recipe.boxes);
  views.scores = see(recipe.scores);
  views.object = see(recipe.object);
  views.points = see(recipe.points);
  return views;
}

// The best class of a position, with its score.
Box best_of(const DetectRecipe &recipe, const Views &views, std::int64_t position) {
  const auto value = [&](const View &view, std::int64_t channel) {
    const double raw = view.at(position, channel);
    return recipe.is_logits ? sigmoid(raw) : raw;
  };
  Box box{.score = views.scores ? value(*views.scores, 0) : 1};
  for (std::int64_t c = 1; views.scores && c < views.scores->channels; ++c)
    if (const double score = value(*views.scores, c); score > box.score)
      box.label = c, box.score = score;
  if (views.object)
    box.score *= std::clamp(value(*views.object, 0), 0.0, 1.0);
  return box;
}

// The place of a box and of its points; false where some number of it is none.
bool place(const DetectRecipe &recipe, const Views &views, std::int64_t n, const Position &position,
           const Scene &scene, Box &box) {
  const Coding &coding = coding_of(recipe);
  for (std::int64_t c = 0; views.points && c < views.points->channels; c += recipe.point_values)
    box.points.push_back(
        coding.place({views.points->at(n, c), views.points->at(n, c + 1)}, position, scene));
  std::array<double, 4> sides = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (const Pair &point : box.points)
    for (std::size_t i = 0; i < 2; ++i) {
      sides[i] = std::min(sides[i], point[i]);
      sides[i + 2] = std::max(sides[i + 2], point[i]);
    }
  if (views.boxes)
    sides = decode_box(coding,
                       {views.boxes->at(n, 0), views.boxes->at(n, 1), views.boxes->at(n, 2),
                        views.boxes->at(n, 3)},
                       position, scene);
  box.left = sides[0], box.top = sides[1], box.right = sides[2], box.bottom = sides[3];
  const auto is_number = [](const Pair &p) { return std::isfinite(p[0] + p[1]); };
  return std::isfinite(sides[0] + sides[1] + sides[2] + sides[3]) &&
         std::all_of(box.points.begin(), box.points.end(), is_number);
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
  const Views views = views_of(recipe, outputs, 0, 1);
  if (views.boxes && views.boxes->channels != 4)
    throw Error(ErrorCode::Shape, fmt::format("boxes are 4 channels of '{}'", recipe.boxes->output),
                recipe.file);
  if (views.object && views.object->channels != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("object is one channel of '{}'", recipe.object->output), recipe.file);
  if (views.points && views.points->channels % recipe.point_values != 0)
    throw Error(ErrorCode::Shape,
                fmt::format("points have {} channels of '{}', need a multiple of point_values, {}",
                            views.points->channels, recipe.points->output, recipe.point_values),
                recipe.file);
  return views.scores ? views.scores->channels : 1;
}

std::vector<Box> detect(const DetectRecipe &recipe, const std::vector<HostTensor> &outputs,
                        std::int64_t n, std::int64_t pictures, int width, int height) {
  const Views views = views_of(recipe, outputs, n, pictures);
  const std::vector<Position> positions =
      positions_of(recipe, coding_of(recipe), width, height, views.positions);
  const Pair sides = {double(width), double(height)};
  const Scene scene{sides, recipe.variance, recipe.is_fraction ? sides : Pair{1, 1}};
  std::vector<Box> candidates;
  for (std::int64_t p = 0; p < views.positions; ++p) {
    Box box = best_of(recipe, views, p);
    if (box.score >= recipe.threshold &&
        place(recipe, views, p, positions[static_cast<std::size_t>(p)], scene, box))
      candidates.push_back(std::move(box));
  }
  return suppress(std::move(candidates), recipe);
}

} // namespace tilefuse::tool
