// SPDX-License-Identifier: Apache-2.0
#include "tile/builtins.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilefuse::tile {
namespace {

constexpr std::array<BuiltinRow, 16> kBuiltins = {{
    {Builtin::Reshape, "reshape", "reshape(X, D0, …)", "v", true, false},
    {Builtin::Permute, "permute", "permute(X, A0, …)", "v", true, false},
    {Builtin::Broadcast, "broadcast", "broadcast(X, D0, …)", "v", true, false},
    {Builtin::Fill, "fill", "fill(VALUE, D0, …)", "n", true, false},
    {Builtin::FillLike, "fill_like", "fill_like(X, VALUE, D0, …)", "tn", true, false},
    {Builtin::CastLike, "cast_like", "cast_like(X, LIKE)", "vt", false, false},
    {Builtin::Index, "index", "index(X, D)", "vi", false, true},
    {Builtin::Shape, "shape", "shape(X)", "v", false, true},
    {Builtin::AsFloat, "as_float", "as_float(X, BITS)", "vi", false, true},
    {Builtin::AsInt, "as_int", "as_int(X, BITS)", "vi", false, true},
    {Builtin::AsUint, "as_uint", "as_uint(X, BITS)", "vi", false, true},
    {Builtin::Softmax, "softmax", "softmax(X) or softmax(X, M, N)", "v", true, true},
    {Builtin::Softmax, "builtin_softmax", "builtin_softmax(X, M, N)", "v", true, true},
    {Builtin::LogSoftmax, "log_softmax", "log_softmax(X) or log_softmax(X, M, N)", "v", true, true},
    {Builtin::LogSoftmax, "logsoftmax", "logsoftmax(X) or logsoftmax(X, M, N)", "v", true, true},
    {Builtin::LogSoftmax, "builtin_logsoftmax", "builtin_logsoftmax(X, M, N)", "v", true, true},
}};

constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"gather", "subscripts read by data are not affine; Tile has none"},
    {"scatter", "subscripts written by data are not affine; Tile has none"},
    {"prng_step", "Tile has no random numbers; pass them as a tensor"},
    {"prng_state", "Tile has no random numbers; pass them as a tensor"},
    {"prng_value", "Tile has no random numbers; pass them as a tensor"},
    {"tuple", "Tile has no tuples; a function has several results"},
    {"element", "Tile has no tuples; a function has several results"},
    {"simple_reduce", "write the sum over the broadcast dimensions as a contraction"},
    {"reverse_grad", "gradients are derived from the function itself; none is given by hand"},
    {"asin", "inverse trigonometric functions are not supported"},
    {"acos", "inverse trigonometric functions are not supported"},
    {"atan", "inverse trigonometric functions are not supported"},
};

} // namespace

const BuiltinRow *find_builtin(std::string_view name) {
  for (const BuiltinRow &row : kBuiltins)
    if (row.name == name)
      return &row;
  return nullptr;
}

std::optional<DType> parse_cast(std::string_view name) {
  constexpr std::string_view kPrefix = "cast_";
  if (name.substr(0, kPrefix.size()) != kPrefix)
    return std::nullopt;
  return parse_dtype(name.substr(kPrefix.size()));
}

std::optional<DType> type_of_bits(Builtin builtin, std::int64_t bits) {
  struct Row {
    Builtin builtin;
    std::int64_t bits;
    DType type;
  };
  constexpr Row kTypes[] = {
      {Builtin::AsFloat, 16, DType::F16}, {Builtin::AsFloat, 32, DType::F32},
      {Builtin::AsFloat, 64, DType::F64}, {Builtin::AsInt, 8, DType::I8},
      {Builtin::AsInt, 16, DType::I16},   {Builtin::AsInt, 32, DType::I32},
      {Builtin::AsInt, 64, DType::I64},   {Builtin::AsUint, 8, DType::U8},
      {Builtin::AsUint, 16, DType::U16},  {Builtin::AsUint, 32, DType::U32},
      {Builtin::AsUint, 64, DType::U64},
  };
  for (const Row &row : kTypes)
    if (row.builtin == builtin && row.bits == bits)
      return row.type;
  return std::nullopt;
}

bool is_integer_function(std::string_view name) {
  constexpr std::string_view kNames[] = {"min", "max", "mod", "abs"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string_view refusal(std::string_view name) {
  for (const auto &[refused, why] : kRefused)
    if (refused == name)
      return why;
  return name.starts_with("assert_") ? "shapes are checked where they are bound; Tile has no other "
                                       "assertions"
                                     : "";
}

} // namespace tilefuse::tile
