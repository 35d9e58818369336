// SPDX-License-Identifier: Apache-2.0
#include "kernel/rounding.h"

namespace tilefuse::kernel {
namespace {

constexpr double kWhole = 0x1.8p23; // beside which units are the last places

} // namespace

ExprRef round_by_sums(Builder &build, ExprRef x) {
  const ExprRef whole = build.real(kWhole, x->type);
  return build.sub(build.add(x, whole), whole);
}

ExprRef rounded_by_sums(ExprRef expr) {
  const Scalar *back = call_of(expr, ScalarOp::Sub);
  const Scalar *there = back != nullptr ? call_of(back->args[0], ScalarOp::Add) : nullptr;
  const bool rounds = there != nullptr && constant_of(there->args[1]) == kWhole &&
                      constant_of(back->args[1]) == kWhole;
  return rounds ? there->args[0] : nullptr;
}

const Scalar *call_of(ExprRef expr, ScalarOp op) {
  const auto *node = std::get_if<Scalar>(&expr->node);
  return node != nullptr && node->op == op ? node : nullptr;
}

std::optional<double> constant_of(ExprRef expr) {
  const auto *constant = std::get_if<Const>(&expr->node);
  return constant == nullptr ? std::nullopt : std::optional(constant->value);
}

std::optional<Held> held(ExprRef expr) {
  const Scalar *below = call_of(expr, ScalarOp::Min);
  const Scalar *above = below != nullptr ? call_of(below->args[0], ScalarOp::Max) : nullptr;
  if (above == nullptr)
    return std::nullopt;
  const std::optional<double> low = constant_of(above->args[1]);
  const std::optional<double> high = constant_of(below->args[1]);
  if (!low || !high)
    return std::nullopt;
  return Held{above->args[0], *low, *high};
}

} // namespace tilefuse::kernel
