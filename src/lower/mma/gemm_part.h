// SPDX-License-Identifier: Apache-2.0
// What every part of the lowering of a product by matrix instructions stands on: the context of its
// member, the kernel under construction, and the product's roles and tile (schedule/mma/core.h).
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

class GemmPart {
protected:
  explicit GemmPart(Context &context)
      : cx_(context), b_(context.build), roles_(context.gemm().roles), tile_(context.gemm().tile) {}

  ExprRef integer(std::int64_t value) const { return b_.integer(value); }

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreRoles &roles_;
  const schedule::CoreTile &tile_;
};

} // namespace tilefuse::lower
