// SPDX-License-Identifier: Apache-2.0
// Verbs of models that take a recipe of training too: what a step of it is stands in the recipe.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace tilefuse::tool {

inline bool is_recipe(const std::string &file) { return file.ends_with(".toml"); }

// Error{Unsupported} names the first option that was given and is not one of these or of an engine, such as --device.
void check_recipe_options(const CLI::App &verb, std::span<const char *const> known);

} // namespace tilefuse::tool
