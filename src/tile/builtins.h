// SPDX-License-Identifier: Apache-2.0
// Functions that Tile knows by itself. Pointwise ones carry the names of ScalarOp's rows (exp, max,
// select, …) and of types (cast_f32, …). The others make a tensor:
//
//   reshape(X, D0, …)            the same elements in row-major order as [D0, …]
//   permute(X, A0, …)            dimension k of the result is dimension Ak of X
//   broadcast(X, D0, …)          X repeated to [D0, …], right-aligned, dimensions of 1 repeat
//   fill(VALUE, D0, …)           a constant f32 tensor of one value
//   fill_like(X, VALUE, D0, …)   the same in the type of X
//   cast_like(X, LIKE)           X in the type of the tensor LIKE
#pragma once

#include <optional>
#include <string_view>

#include "target/dtype.h"

namespace tilefuse::tile {

enum class Builtin { Reshape, Permute, Broadcast, Fill, FillLike, CastLike };

struct BuiltinRow {
  Builtin builtin;
  std::string_view name;
  std::string_view usage;
  std::string_view arguments; // v value, t name of a tensor, n number; integers follow when `sizes`
  bool sizes;
};

const BuiltinRow &row(Builtin builtin);
std::optional<Builtin> parse_builtin(std::string_view name);
// The type of cast_TYPE.
std::optional<DType> parse_cast(std::string_view name);

} // namespace tilefuse::tile
