// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/exact.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/index.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "target/dtype_traits.h"

namespace tilefuse::model {
namespace {

using program::Agg;
using program::Comb;
using program::Expr;

constexpr double kLargestDrawn = 4;

// The magnitude up to which all integers are values of a type in memory; evaluation in double
// precision bounds it.
double stored_limit(DType type) {
  constexpr int kDoubleDigits = 53;
  const DTypeTraits &row = traits(type);
  return std::ldexp(1, std::min(row.is_float ? row.digits : row.bits - 1, kDoubleDigits));
}

// The same for a type that arithmetic is done in.
double exact_limit(DType type) { return stored_limit(traits(type).value); }

using Magnitude = std::optional<double>; // nothing: not an integer, or past the limit

// Of an expression whose operands are bounded by kLargestDrawn, and the accumulator by `acc`.
Magnitude magnitude(const Expr &expr, double acc);

// A bound of |accumulator|, partial results included, from bounds of the inputs.
double accumulated(const nest::Nest &nest, const std::vector<double> &inputs) {
  double points = 1;
  for (const nest::IndexId i : reduced_indices(nest))
    points *= static_cast<double>(extent(nest, i));
  double term = *std::max_element(inputs.begin(), inputs.end());
  const std::size_t values = inputs.size() - nest::positions(nest);
  if (nest.comb == Comb::Mul || (nest.comb == Comb::Pick && values == 2))
    term = inputs[0] * inputs[1];
  if (nest.comb == Comb::Add)
    term = inputs[0] + inputs[1];
  if (nest.comb == Comb::Term)
    term = magnitude(nest.term, 0).value_or(std::numeric_limits<double>::infinity());
  if (nest.agg == Agg::Sum)
    return term * points;
  return nest.agg == Agg::Product ? std::pow(term, points) : term;
}

Magnitude of_call(const Expr &expr, double acc) {
  double sum = 0;
  double product = 1;
  double largest = 0;
  for (const Expr &arg : expr.args) {
    const Magnitude of_arg = magnitude(arg, acc);
    if (!of_arg)
      return {};
    sum += *of_arg;
    product *= *of_arg;
    largest = std::max(largest, *of_arg);
  }
  if (row(expr.op).is_comparison)
    return 1;
  switch (expr.op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return sum;
  case ScalarOp::Mul:
    return product;
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Max:
  case ScalarOp::Min:
  case ScalarOp::Select:
    return largest;
  default:
    return {};
  }
}

Magnitude magnitude(const Expr &expr, double acc) {
  Magnitude result;
  switch (expr.kind) {
  case Expr::Kind::Const:
    result = expr.value == std::floor(expr.value) ? Magnitude(std::fabs(expr.value)) : Magnitude();
    break;
  case Expr::Kind::Operand:
    result = kLargestDrawn;
    break;
  case Expr::Kind::Acc:
    result = acc;
    break;
  case Expr::Kind::Cast:
    result = expr.type == DType::Bool ? Magnitude(1) : magnitude(expr.args[0], acc);
    break;
  case Expr::Kind::Call:
    result = of_call(expr, acc);
    break;
  }
  return result && *result < exact_limit(expr.type) ? result : Magnitude();
}

// A bound of what a member of the group stores, if all its values are exact.
Magnitude stored_by(const poly::Group &group, poly::MemberId member) {
  const nest::Nest &nest = member_nest(group, member);
  std::vector<double> inputs(nest.inputs.size(), kLargestDrawn);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::optional<poly::MemberId> producer = producer_of(group, member, static_cast<int>(k));
    const Magnitude made = producer ? stored_by(group, *producer) : Magnitude(kLargestDrawn);
    if (!made)
      return {};
    inputs[k] = *made;
  }
  const double acc = inputs.empty() ? 0 : accumulated(nest, inputs);
  if (acc >= exact_limit(nest.acc_type))
    return {};
  const DType type = type_of(nest, nest.out);
  const Magnitude stored = magnitude(nest.post, acc);
  const bool last = member == poly::kAnchor && is_float(type);
  return stored && (last || *stored < stored_limit(type)) ? stored : Magnitude();
}

} // namespace

bool is_exact(const KernelCase &kernel_case) {
  return kernel_case.values == Values::Integers && kernel_case.given.empty() &&
         kernel_case.group.sums.empty() && !has_rows(kernel_case.group) &&
         stored_by(kernel_case.group, poly::kAnchor).has_value();
}

} // namespace tilefuse::model
