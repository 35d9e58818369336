// SPDX-License-Identifier: Apache-2.0
// Tensors seen as [outer, axis, inner], the view that operators along one axis take.
#pragma once

#include <string>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// [elements before the axis, its size, elements after it].
program::Shape three_dims(const program::Shape &shape, std::size_t axis);
Value along_axis(const Call &call, const Value &value, std::size_t axis);
// A function of [outer, axis, inner] applied to one axis of a tensor, whose other sizes it keeps.
Value apply_along(const Call &call, const std::string &function, const Value &value,
                  std::size_t axis, const tile::Attributes &attributes = {});
// A tensor cut or filled up with zeros to [begin, begin + size) along an axis; begin may be
// negative.
Value window_along(const Call &call, const Value &value, std::size_t axis, std::int64_t begin,
                   std::int64_t size);
// A constant of one element, of the shape [].
Value zeros(const Call &call, DType type, const program::Shape &shape); // a constant
Value scalar_constant(double number, DType type);
// Error{Unsupported} where elements are found by comparing, more often than is sensible.
void check_comparisons(const Call &call, std::int64_t elements, std::int64_t positions);

} // namespace tilefuse::onnx_import
