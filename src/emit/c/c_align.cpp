// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_align.h"

#include <cstdlib>
#include <numeric>

#include "base/index.h"
#include "kernel/build.h"
#include "kernel/walk.h"

namespace tilefuse::emit {
namespace {

using kernel::ExprRef;

// Larger divisors are of no use, and products of these do not overflow.
constexpr std::int64_t kMostDivisor = 1 << 16;

std::int64_t of_scalar(const kernel::Scalar &node, const std::vector<std::int64_t> &variables) {
  const auto arg = [&](std::size_t i) { return divisor_of(node.args[i], variables); };
  std::int64_t by = 0;
  switch (node.op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Min:
  case ScalarOp::Max:
    return std::gcd(arg(0), arg(1));
  case ScalarOp::BitXor: // bits that are 0 in both
    by = std::gcd(arg(0), arg(1));
    return by & -by;
  case ScalarOp::Mul:
    return std::gcd(arg(0), kMostDivisor) * std::gcd(arg(1), kMostDivisor);
  case ScalarOp::Mod:
    return kernel::is_constant(node.args[1], &by) ? std::gcd(arg(0), by) : 1;
  case ScalarOp::Div:
    return kernel::is_constant(node.args[1], &by) && by > 0 && arg(0) % by == 0 ? arg(0) / by : 1;
  case ScalarOp::Select:
    return std::gcd(arg(1), arg(2));
  default:
    return 1;
  }
}

} // namespace

std::int64_t divisor_of(ExprRef expr, const std::vector<std::int64_t> &variables) {
  std::int64_t value = 0;
  if (kernel::is_constant(expr, &value))
    return std::llabs(value);
  if (const auto *ref = std::get_if<kernel::VarRef>(&expr->node))
    return variables[at(ref->var)];
  const auto *scalar = std::get_if<kernel::Scalar>(&expr->node);
  return scalar == nullptr ? 1 : of_scalar(*scalar, variables);
}

std::vector<std::int64_t> variable_divisors(const kernel::Kernel &kernel) {
  std::vector<std::int64_t> divisors(kernel.variables.size(), 1);
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    if (const auto *let = std::get_if<kernel::Let>(&stmt->node))
      divisors[at(let->var)] =
          let->value->type == kernel::Type{DType::I32, 1} ? divisor_of(let->value, divisors) : 1;
    if (const auto *loop = std::get_if<kernel::For>(&stmt->node))
      divisors[at(loop->var)] = std::gcd(divisor_of(loop->begin, divisors), loop->step);
  });
  return divisors;
}

bool is_aligned(const CContext &cx, const kernel::Type &type, const kernel::Load &at) {
  const bool is_power = (type.lanes & (type.lanes - 1)) == 0;
  if (!is_power || at.lane_stride != 1 || divisor_of(at.index, cx.divisors) % type.lanes != 0)
    return false;
  return cx.language.has_wide(cx, type);
}

ExprRef all_or_none(ExprRef valid, int lanes) {
  const auto *scalar = std::get_if<kernel::Scalar>(&valid->node);
  if (scalar == nullptr || scalar->op != ScalarOp::Select)
    return nullptr;
  std::int64_t all = 0;
  std::int64_t none = 1;
  const bool known =
      kernel::is_constant(scalar->args[1], &all) && kernel::is_constant(scalar->args[2], &none);
  return known && all >= lanes && none <= 0 ? scalar->args[0] : nullptr;
}

} // namespace tilefuse::emit
