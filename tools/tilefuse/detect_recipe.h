// SPDX-License-Identifier: Apache-2.0
// How a detector's outputs become boxes: the table [detect] of MODEL.toml, beside the settings of pictures.
//
//   [detect]
//   boxes = "output 0..4"      an output's name and its channels, all of them without a range
//   scores = "output 5..85"    one channel per class
//   object = "output 4..5"     optional: a factor of all scores
//   points = "loc 4..14"       optional: five landmarks, coded as a box's place is
//   coding = "grid"            what the four numbers of a box say: a row of kCodings (box_coding.cpp)
//   strides = [8, 16, 32]      pixels between positions, one per grid
//
// docs/recipes.md has every key; examples/detect/ has recipes of known networks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilefuse::tool {

// Channels of an output, by its name.
struct Channels {
  std::string output;
  std::int64_t first = 0;
  std::int64_t end = -1; // one behind the last; -1: all of them
};

struct DetectRecipe {
  std::optional<Channels> boxes;  // none: the least boxes around the points
  std::optional<Channels> scores; // none: of points alone
  std::optional<Channels> object;
  std::optional<Channels> points; // of each box: x and y of the first, of the second, …
  std::int64_t point_values = 2;  // channels of a point; what follows x and y is passed over
  std::string coding = "corners";
  bool is_fraction = false;          // corners and centres are parts of the input's sides
  bool is_channels_first = false;    // of outputs with three dimensions
  bool is_logits = false;            // scores and object go through a sigmoid
  std::vector<std::int64_t> strides; // pixels, one per grid
  std::vector<std::vector<std::array<double, 2>>> anchors; // per grid: width, height in pixels
  std::array<double, 2> variance = {0.1, 0.2};             // of anchors' centres and sizes
  double threshold = 0.5;                                  // least score of a box
  double overlap = 0.45;   // most intersection over union with a better box of its class
  std::int64_t most = 100; // boxes of a picture
  std::string file;        // where it was read, for errors
};

// The table [detect] of a file of settings, or nothing. Error{Io|Syntax} names the key and the line that is wrong.
std::optional<DetectRecipe> read_detect(const std::string &toml_file);

} // namespace tilefuse::tool
