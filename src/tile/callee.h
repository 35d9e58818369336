// SPDX-License-Identifier: Apache-2.0
// What the name of a call means. In this order: a scalar operation or a cast; a
// built-in that makes tensors; a Tile function that stands above the call; a
// built-in that yields to such a function (builtins.h); a function of the
// prelude.
#pragma once

#include <string_view>

#include "tile/builtins.h"
#include "tile/function_table.h"

namespace tilefuse::tile {

struct Callee {
  enum class Kind { Unknown, Scalar, Cast, Builtin, Function };
  Kind kind = Kind::Unknown;
  ScalarOp op = ScalarOp::Add;         // Scalar
  DType type = DType::F32;             // Cast
  const BuiltinRow *builtin = nullptr; // Builtin
  const Function *function = nullptr;  // Function
};

// For a call inside a function of `order`.
Callee resolve(const FunctionTable &functions, std::string_view name, int order);

} // namespace tilefuse::tile
