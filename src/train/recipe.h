// SPDX-License-Identifier: Apache-2.0
// A recipe says all of a training run: the model, the pictures, what is trained and how. It is a value; its text is TOML,
// with the members of Recipe as keys of sections of their names (docs/training.md has the table):
//
//   model = "model.onnx"
//   seed = 1
//   [data]
//   train = "cifar:train_10000.bin.gz"
//   [optimizer]
//   rate = 0.02
//
// Relative paths in a text are of the recipe's folder; in a value they are absolute. A key that no recipe has, a value
// of another kind and one out of its range are Error{Syntax} at "file:line", with the key that was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/recipe_value.h"

namespace tilefuse::train {

// Error{Io} when the file cannot be read.
Recipe read_recipe(const std::string &path);
// `file` names the text in errors; its folder is the recipe's.
Recipe parse_recipe(std::string_view text, const std::string &file);
// All keys, those with their default too; parse_recipe reads it back.
std::string to_text(const Recipe &recipe);

// "optimizer.rate=0.05", as the command line's --set takes it: texts need no quotes, lists no brackets. Relative paths
// are of the working folder.
void set(Recipe &recipe, std::string_view assignment);

// Error{Syntax} when something that every run needs is not said, or two keys contradict each other.
void check(const Recipe &recipe);

// "optimizer.rate: 0.02, was 0.01": a line per key in which `now` differs from `before`.
std::vector<std::string> differences(const Recipe &before, const Recipe &now);

} // namespace tilefuse::train
