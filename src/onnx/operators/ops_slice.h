// SPDX-License-Identifier: Apache-2.0
// What a Slice node takes of each axis, and slices that others take.
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
// The elements of an axis at indices inside it: one slice, or as many as there are indices.
Value take_indices(const Call &call, const Value &data, std::size_t axis, const Ints &indices);
// `count` elements of an axis from `start` on; Error{Shape} where they are not all there.
Value take_range(const Call &call, const Value &data, std::size_t axis, std::int64_t start,
                 std::int64_t count);
// `pieces` of equal sizes but along an axis, one after the other.
Value put_together(const Call &call, const std::vector<Value> &pieces, std::size_t axis);

} // namespace tilefuse::onnx_import
