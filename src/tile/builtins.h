// SPDX-License-Identifier: Apache-2.0
// Functions that Tile knows by itself. Pointwise ones carry the names of ScalarOp's rows (exp, max,
// select, …) and of types (cast_f32, …). The others:
//
//   reshape(X, D0, …)            the same elements in row-major order as [D0, …]
//   permute(X, A0, …)            dimension k of the result is dimension Ak of X
//   broadcast(X, D0, …)          X repeated to [D0, …], right-aligned; dimensions of 1 repeat
//   fill(VALUE, D0, …)           a constant f32 tensor of one value
//   fill_like(X, VALUE, D0, …)   the same in the type of X
//   cast_like(X, LIKE)           X in the type of the tensor LIKE
//   index(X, D)                  i32 of the shape of X: each element's coordinate in dimension D
//   shape(X)                     i32 [rank of X]: its dimensions
//   as_float(X, BITS)            X as f16, f32 or f64
//   as_int(X, BITS)              X as i8, i32 or i64
//   as_uint(X, BITS)             X as u8
//   softmax(X), log_softmax(X)   over the last dimension; the shape of the rows may follow as two
//                                numbers
//
// relu, sigmoid and the like are Tile functions themselves (prelude.h). callee.h says what a name
// means where a text defines a function of the same name.
#pragma once

#include <optional>
#include <string_view>

#include "target/dtype.h"

namespace tilefuse::tile {

enum class Builtin {
  Reshape,
  Permute,
  Broadcast,
  Fill,
  FillLike,
  CastLike,
  Index,
  Shape,
  AsFloat,
  AsInt,
  AsUint,
  Softmax,
  LogSoftmax
};

struct BuiltinRow {
  Builtin builtin;
  std::string_view name;
  std::string_view usage;
  std::string_view arguments; // v value, t name of a tensor, n number, i integer
  bool sizes;                 // integers follow
  bool yields;                // to a Tile function of the same name that stands above the call
};

// Nothing for a name that is no built-in of this table.
const BuiltinRow *find_builtin(std::string_view name);
// The type of cast_TYPE.
std::optional<DType> parse_cast(std::string_view name);
// The type that as_float, as_int or as_uint makes of so many bits.
std::optional<DType> type_of_bits(Builtin builtin, std::int64_t bits);
// Operations that keep integers integers, so that sizes may use them: min, max,
// mod, abs.
bool is_integer_function(std::string_view name);
// Why Tile refuses a function that PlaidML has; empty for any other name.
std::string_view refusal(std::string_view name);

} // namespace tilefuse::tile
