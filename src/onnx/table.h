// SPDX-License-Identifier: Apache-2.0
// One row per operator and range of opsets. Adding an operator is a Tile function in ops/ and a row
// here; a handler of its own is needed only where attributes or operands must be computed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "onnx/call.h"

namespace tilefuse::onnx_import {

struct Operator {
  std::string_view type;
  std::int64_t since; // first and last opset with this row's meaning
  std::int64_t until;
  void (*import)(Call &call);
  // The attributes understood, separated by spaces. `name=a|b` accepts only these values.
  std::string_view attributes = "";
  // What handlers shared by several operators instantiate.
  std::string_view function = "";
};

// All rows, by name.
std::span<const Operator> operators();

// The row for an operator of the default domain, or null.
const Operator *find_operator(std::string_view type, std::int64_t opset);

} // namespace tilefuse::onnx_import
