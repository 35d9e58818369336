// SPDX-License-Identifier: Apache-2.0
// What a step of a recipe is, and how it grows with workers, on paper (train/lanes/scaling.h): one
// worker's step is timed on the device, the rest is computed.
#pragma once

#include <string>

#include "open_model.h"
#include "report/document.h"

namespace tilefuse::tool {

// For 1, 2, 4, … up to `workers`; `on` says on which device.
report::Document explain_recipe(const std::string &file, const ModelOptions &on, int workers);

} // namespace tilefuse::tool
