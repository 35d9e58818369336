// SPDX-License-Identifier: Apache-2.0
// Elements at given positions, for other operators.
#pragma once

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// The rows of a matrix at indices [E], which are not negative.
Value pick_rows(const Call &call, const Value &matrix, const Value &indices);

} // namespace tilefuse::onnx_import
