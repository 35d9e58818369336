// SPDX-License-Identifier: Apache-2.0
// Boxes and points out of a detector's outputs as a recipe says: decoded, those below the threshold left out, and of
// boxes of one class that overlap the best kept (greedy non-maximum suppression). Coordinates are pixels of the model's
// input. A model that predicts points alone has the least box around them, with score 1.
#pragma once

#include <string>
#include <vector>

#include "box_coding.h"
#include "detect_recipe.h"
#include "program/host_tensor.h"

namespace tilefuse::tool {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::int64_t label = 0; // channel of the scores
  double score = 0;
  std::vector<Pair> points; // landmarks of what is in the box, where the recipe has some
};

// Channels of the scores: how many classes there are; 1 without scores. Error{Shape} where an output that the recipe names is not there,
// or is too short; before anything is computed.
std::int64_t detected_classes(const DetectRecipe &recipe,
                              const std::vector<program::HostTensor> &outputs);

// Boxes of picture `n` of `pictures`, which the outputs hold one behind the other; the best first. `width` and `height`
// are the input's. Error{Shape} where positions of the outputs and of the recipe's grids differ in number.
std::vector<Box> detect(const DetectRecipe &recipe, const std::vector<program::HostTensor> &outputs,
                        std::int64_t n, std::int64_t pictures, int width, int height);

} // namespace tilefuse::tool
