// SPDX-License-Identifier: Apache-2.0
// Reductions that other operators take.
#pragma once

#include <vector>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// The mean over the dimensions marked, which become 1.
Value mean_over(const Call &call, const Value &value, const std::vector<bool> &reduced);

} // namespace tilefuse::onnx_import
