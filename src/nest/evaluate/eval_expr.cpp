// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/eval_expr.h"

#include "base/error.h"

namespace tilefuse::nest {
namespace {

using program::Expr;

// Every value modulo the size of an integer type.
void wrap_all(std::vector<double> &values, DType type) {
  if (is_float(type))
    return;
  for (double &value : values)
    value = cast_to_integer(value, DType::I64, type);
}

template <class F> void combine(std::vector<double> &a, const std::vector<double> &b, F operation) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = operation(a[i], b[i]);
}

// The operations that nearly every map consists of; false for any other.
bool combine_common(ScalarOp op, std::vector<double> &a, const std::vector<double> &b) {
  switch (op) {
  case ScalarOp::Add:
    combine(a, b, [](double x, double y) { return x + y; });
    return true;
  case ScalarOp::Sub:
    combine(a, b, [](double x, double y) { return x - y; });
    return true;
  case ScalarOp::Mul:
    combine(a, b, [](double x, double y) { return x * y; });
    return true;
  case ScalarOp::Max:
    combine(a, b, [](double x, double y) { return y > x ? y : x; });
    return true;
  case ScalarOp::Min:
    combine(a, b, [](double x, double y) { return y < x ? y : x; });
    return true;
  default:
    return false;
  }
}

std::vector<double> evaluate_bit_rows(const Expr &expr, std::vector<double> values,
                                      const std::vector<std::vector<double>> &others) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t a = whole_of(values[i], expr.type);
    const std::int64_t b = others.empty() ? 0 : whole_of(others[0][i], expr.type);
    values[i] = number_of(evaluate_bits(expr.op, expr.type, a, b), expr.type);
  }
  return values;
}

// A quotient of floats may lie half way between whole numbers, and its double beside it.
bool rounds_float(const Expr &expr) {
  const bool rounds =
      expr.op == ScalarOp::Round || expr.op == ScalarOp::Floor || expr.op == ScalarOp::Ceil;
  return rounds && expr.type == DType::F32;
}

std::vector<double> evaluate_call(const Expr &expr, const ExprRows &rows) {
  std::vector<double> result = evaluate_rows(expr.args[0], rows);
  if (rounds_float(expr))
    for (double &value : result)
      value = nearest(value, DType::F32);
  std::vector<std::vector<double>> others;
  for (std::size_t k = 1; k < expr.args.size(); ++k)
    others.push_back(evaluate_rows(expr.args[k], rows));
  if (others.size() == 1 && combine_common(expr.op, result, others[0]))
    return result;
  if (is_bitwise(expr.op))
    return evaluate_bit_rows(expr, std::move(result), others);
  const bool integer = !is_float(expr.args.back().type);
  std::vector<double> point(expr.args.size());
  for (std::size_t i = 0; i < rows.count; ++i) {
    point[0] = result[i];
    for (std::size_t k = 0; k < others.size(); ++k)
      point[k + 1] = others[k][i];
    result[i] = evaluate(expr.op, point, integer);
  }
  return result;
}

} // namespace

double cast_value(double value, DType from, DType to) {
  if (!is_float(to))
    return cast_to_integer(value, from, to);
  return to == DType::F32 && program::loses_digits(from, to) ? nearest(value, to) : value;
}

std::vector<double> evaluate_rows(const Expr &expr, const ExprRows &rows) {
  switch (expr.kind) {
  case Expr::Kind::Const:
    return std::vector<double>(rows.count, expr.value);
  case Expr::Kind::Operand: {
    const double *row = rows.operands.at(static_cast<std::size_t>(expr.operand));
    return std::vector<double>(row, row + rows.count);
  }
  case Expr::Kind::Acc: {
    TILEFUSE_CHECK(rows.acc != nullptr, "an expression reads an accumulator that is not there");
    std::vector<double> result(rows.acc, rows.acc + rows.count);
    wrap_all(result, expr.type);
    return result;
  }
  case Expr::Kind::Cast: {
    std::vector<double> result = evaluate_rows(expr.args[0], rows);
    for (double &value : result)
      value = cast_value(value, expr.args[0].type, expr.type);
    return result;
  }
  case Expr::Kind::Call: {
    std::vector<double> result = evaluate_call(expr, rows);
    wrap_all(result, expr.type);
    return result;
  }
  }
  internal_error("unknown kind of expression", __FILE__, __LINE__);
}

} // namespace tilefuse::nest
