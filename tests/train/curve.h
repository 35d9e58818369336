// SPDX-License-Identifier: Apache-2.0
// Losses by step that PyTorch gave (make_curves.py), and the recipe that they were made by.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "train/recipe.h"

namespace tilefuse::train {

struct Curve {
  Recipe recipe;
  std::int64_t steps = 0;
  std::vector<double> wide;   // f64
  std::vector<double> narrow; // f32
};

// The settings and losses of a file of tests/data.
inline Curve read_curve(const std::string &path) {
  Curve curve;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key, value, narrow;
    words >> key >> value;
    if (words >> narrow) {
      curve.wide.push_back(std::stod(value));
      curve.narrow.push_back(std::stod(narrow));
    } else if (key == "steps") {
      curve.steps = std::stoll(value);
    } else {
      const std::string section = key == "batch"                  ? "steps."
                                  : key == "mean" || key == "std" ? "data."
                                  : key == "smoothing"            ? "loss."
                                                                  : "optimizer.";
      set(curve.recipe, section + key + "=" + value);
    }
  }
  return curve;
}

} // namespace tilefuse::train
