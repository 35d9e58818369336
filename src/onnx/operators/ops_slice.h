// SPDX-License-Identifier: Apache-2.0
// What a Slice node takes of each axis.
#pragma once

#include <vector>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

struct SliceAxis {
  std::int64_t start = 0; // the first element taken
  std::int64_t step = 1;  // may be negative
  std::int64_t count = 0;
};

// One entry per axis of operand 0, from attributes (opset < 10) or constant operands; negative and
// huge bounds are resolved.
std::vector<SliceAxis> slice_axes(const Call &call);

} // namespace tilefuse::onnx_import
