// SPDX-License-Identifier: Apache-2.0
// What a step of a recipe is, which tensors a limit of memory has computed again and why
// (report/waiting.h), and how it grows with workers, on paper (train/lanes/scaling.h): one worker's
// step is timed on the device, the rest is computed.
#pragma once

#include <string>

#include "open_model.h"
#include "report/document.h"

namespace tilefuse::tool {

struct RecipeQuestions {
  int workers = 8;    // at most
  std::string memory; // in place of the recipe's steps.memory_gb; empty: that
};

// For 1, 2, 4, … workers; `on` says on which device.
report::Document explain_recipe(const std::string &file, const ModelOptions &on,
                                const RecipeQuestions &asked);

} // namespace tilefuse::tool
