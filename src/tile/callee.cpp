// SPDX-License-Identifier: Apache-2.0
#include "tile/callee.h"

#include <string>

#include "tile/prelude.h"

namespace tilefuse::tile {

Callee resolve(const FunctionTable &functions, std::string_view name, int order) {
  if (const std::optional<ScalarOp> op = parse_scalar_op(name))
    return {.kind = Callee::Kind::Scalar, .op = *op};
  if (const std::optional<DType> type = parse_cast(name))
    return {.kind = Callee::Kind::Cast, .type = *type};
  const BuiltinRow *builtin = find_builtin(name);
  if (builtin && !builtin->yields)
    return {.kind = Callee::Kind::Builtin, .builtin = builtin};
  const auto above = functions.find(std::string(name));
  if (above != functions.end() && above->second.order < order)
    return {.kind = Callee::Kind::Function, .function = &above->second};
  if (builtin)
    return {.kind = Callee::Kind::Builtin, .builtin = builtin};
  const auto known = prelude().find(std::string(name));
  if (known != prelude().end())
    return {.kind = Callee::Kind::Function, .function = &known->second};
  return {};
}

} // namespace tilefuse::tile
