// SPDX-License-Identifier: Apache-2.0
// One row per operator and range of opsets. Adding an operator is a Tile function in ops/ and a row
// here; a handler of its own is needed only where attributes or operands must be computed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "onnx/operator.h"

namespace tilefuse::onnx_import {

// All rows, by name.
std::span<const Operator> operators();

// The row for an operator of the default domain, or null.
const Operator *find_operator(std::string_view type, std::int64_t opset);

} // namespace tilefuse::onnx_import
