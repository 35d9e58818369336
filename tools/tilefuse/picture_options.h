// SPDX-License-Identifier: Apache-2.0
// --preset, --size, --mean and the others that say how pictures become inputs.
#pragma once

#include <string>

#include "detect_recipe.h"
#include "settings.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

struct PictureOptions {
  std::string file; // --preprocess
  PreprocessText said;
};

// `options` must outlive parsing.
void add_picture_options(CLI::App &verb, PictureOptions &options);

// The settings in force for a model, and whether anything said how values are scaled.
struct PictureSettings {
  Preprocess preprocess;
  std::string labels;                 // a file, or empty
  std::string note;                   // where settings were found, or empty
  std::optional<DetectRecipe> detect; // of the same file
  bool is_scaled = false;             // by a preset, a file or an option
  bool is_shaped = false;             // a size, a shorter side or a crop was said
};
PictureSettings picture_settings(const std::string &model, const PictureOptions &options);

// Error{Unsupported} names an option that was given although no picture is read.
void check_no_picture_options(const PictureOptions &options);

} // namespace tilefuse::tool
