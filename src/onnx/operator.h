// SPDX-License-Identifier: Apache-2.0
// A row of the table of operators (table.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace tilefuse::onnx_import {

class Call;

// An operator over a range of opsets, and what imports its nodes.
struct Operator {
  std::string_view type;
  std::int64_t since; // first and last opset with this row's meaning
  std::int64_t until;
  void (*import)(Call &call); // null for If, whose branch is imported (nodes.h)
  // The attributes understood, separated by spaces. `name=a|b` accepts only these values.
  std::string_view attributes = "";
  // What handlers shared by several operators instantiate.
  std::string_view function = "";
  // Results that exist; others may be named, but not used.
  int results = 1;
};

} // namespace tilefuse::onnx_import
