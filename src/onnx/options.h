// SPDX-License-Identifier: Apache-2.0
// What a caller says of a model that the file leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::onnx_import {

struct Options {
  std::optional<std::int64_t> batch; // binds a symbolic first dimension; 1 when unset
  std::map<std::string, program::Shape>
      input_shapes;                         // by graph input: binds its symbolic dimensions
  std::map<std::string, std::int64_t> dims; // by symbol: binds it wherever it stands
  // By graph input of integers: it is no input then but a constant, which shapes may be computed
  // of.
  std::map<std::string, std::vector<std::int64_t>> input_values;
  // Constants that nodes may make up (ConstantOfShape, Range, Resize, …); more is Error{Limit}.
  std::int64_t made_bytes = std::int64_t{4} << 30;
};

} // namespace tilefuse::onnx_import
