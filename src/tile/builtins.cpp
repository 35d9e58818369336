// SPDX-License-Identifier: Apache-2.0
#include "tile/builtins.h"

#include <array>
#include <cstddef>

namespace tilefuse::tile {
namespace {

constexpr std::array<BuiltinRow, 6> kBuiltins = {{
    {Builtin::Reshape, "reshape", "reshape(X, D0, …)", "v", true},
    {Builtin::Permute, "permute", "permute(X, A0, …)", "v", true},
    {Builtin::Broadcast, "broadcast", "broadcast(X, D0, …)", "v", true},
    {Builtin::Fill, "fill", "fill(VALUE, D0, …)", "n", true},
    {Builtin::FillLike, "fill_like", "fill_like(X, VALUE, D0, …)", "tn", true},
    {Builtin::CastLike, "cast_like", "cast_like(X, LIKE)", "vt", false},
}};

} // namespace

const BuiltinRow &row(Builtin builtin) { return kBuiltins[static_cast<std::size_t>(builtin)]; }

std::optional<Builtin> parse_builtin(std::string_view name) {
  for (const BuiltinRow &candidate : kBuiltins)
    if (candidate.name == name)
      return candidate.builtin;
  return std::nullopt;
}

std::optional<DType> parse_cast(std::string_view name) {
  constexpr std::string_view kPrefix = "cast_";
  if (name.substr(0, kPrefix.size()) != kPrefix)
    return std::nullopt;
  return parse_dtype(name.substr(kPrefix.size()));
}

} // namespace tilefuse::tile
