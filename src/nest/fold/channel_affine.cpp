// SPDX-License-Identifier: Apache-2.0
#include "nest/fold/channel_affine.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "nest/evaluate/eval_expr.h"

namespace tilefuse::nest {
namespace {

using program::Expr;
using program::Program;
using program::Shape;
using program::TensorId;

using Row = std::vector<double>;

// A subexpression: no scale means that it does not depend on t.
struct Part {
  std::optional<Row> scale;
  Row shift;
};

template <class F> Row zip(Row a, const Row &b, F operation) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = operation(a[i], b[i]);
  return a;
}

double add(double a, double b) { return a + b; }
double multiply(double a, double b) { return a * b; }
double divide(double a, double b) { return a / b; }

Row negated(Row row) {
  for (double &value : row)
    value = -value;
  return row;
}

class Decomposition {
public:
  Decomposition(ExprRows rows, std::vector<bool> is_t)
      : rows_(std::move(rows)), is_t_(std::move(is_t)) {}

  std::optional<Part> part(const Expr &expr) const {
    if (!depends(expr))
      return Part{std::nullopt, evaluate_rows(expr, rows_)};
    if (expr.kind == Expr::Kind::Operand)
      return Part{Row(rows_.count, 1), Row(rows_.count, 0)};
    if (expr.kind == Expr::Kind::Cast && is_float(expr.type) && is_float(expr.args[0].type) &&
        expr.args[0].type != DType::F64)
      return part(expr.args[0]);
    if (expr.kind == Expr::Kind::Call && is_float(expr.type))
      return call(expr);
    return std::nullopt;
  }

private:
  bool depends(const Expr &expr) const {
    if (expr.kind == Expr::Kind::Operand)
      return is_t_[at(expr.operand)];
    return std::any_of(expr.args.begin(), expr.args.end(),
                       [&](const Expr &arg) { return depends(arg); });
  }

  std::optional<Part> call(const Expr &expr) const {
    std::optional<Part> a = part(expr.args[0]);
    if (!a)
      return std::nullopt;
    if (expr.op == ScalarOp::Neg)
      return negated_part(std::move(*a));
    if (expr.args.size() != 2)
      return std::nullopt;
    std::optional<Part> b = part(expr.args[1]);
    if (!b)
      return std::nullopt;
    switch (expr.op) {
    case ScalarOp::Add:
      return sum(std::move(*a), *b);
    case ScalarOp::Sub:
      return sum(std::move(*a), negated_part(std::move(*b)));
    case ScalarOp::Mul:
      if (a->scale && b->scale)
        return std::nullopt;
      return a->scale ? scaled(std::move(*a), b->shift, multiply)
                      : scaled(std::move(*b), a->shift, multiply);
    case ScalarOp::Div:
      if (b->scale)
        return std::nullopt;
      return scaled(std::move(*a), b->shift, divide);
    default:
      return std::nullopt;
    }
  }

  static Part negated_part(Part part) {
    if (part.scale)
      part.scale = negated(std::move(*part.scale));
    part.shift = negated(std::move(part.shift));
    return part;
  }

  static Part sum(Part a, const Part &b) {
    if (b.scale)
      a.scale = a.scale ? zip(std::move(*a.scale), *b.scale, add) : *b.scale;
    a.shift = zip(std::move(a.shift), b.shift, add);
    return a;
  }

  template <class F> static Part scaled(Part part, const Row &factor, F operation) {
    part.scale = zip(std::move(*part.scale), factor, operation);
    part.shift = zip(std::move(part.shift), factor, operation);
    return part;
  }

  ExprRows rows_;
  std::vector<bool> is_t_;
};

// The one dimension of `result` along which a broadcast operand varies: nothing when there are
// several, past the end when there is none.
std::optional<std::size_t> varying_dim(const Shape &operand, const Shape &result) {
  std::size_t found = result.size();
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] == 1)
      continue;
    if (found != result.size())
      return std::nullopt;
    found = result.size() - operand.size() + d;
  }
  return found;
}

// Channels along which every constant of the map varies.
std::optional<Channels> channels_of(const Program &program, const program::Map &map, TensorId t,
                                    const Shape &result) {
  std::size_t dim = result.size();
  for (TensorId operand : map.operands) {
    if (operand == t)
      continue;
    const program::Tensor &tensor = program[operand];
    if (tensor.role != program::Role::Constant || !tensor.data)
      return std::nullopt;
    const std::optional<std::size_t> own = varying_dim(tensor.shape, result);
    if (!own || (*own != result.size() && dim != result.size() && *own != dim))
      return std::nullopt;
    dim = std::min(dim, *own);
  }
  if (dim == result.size())
    return Channels{};
  const Shape slower(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(dim));
  return Channels{program::elems(slower), result[dim]};
}

Row row_of(const program::Tensor &tensor, std::size_t count) {
  Row row(count);
  const bool varies = program::elems(tensor.shape) != 1;
  for (std::size_t i = 0; i < count; ++i)
    row[i] =
        load_element(tensor.data->data(), tensor.type, varies ? static_cast<std::int64_t>(i) : 0);
  return row;
}

bool is_finite(const Row &row) {
  return std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
}

void repeat(ChannelAffine &affine, Channels channels) {
  affine.scale.resize(static_cast<std::size_t>(channels.count), affine.scale.front());
  affine.shift.resize(static_cast<std::size_t>(channels.count), affine.shift.front());
  affine.channels = channels;
}

} // namespace

std::optional<ChannelAffine> channel_affine(const Program &program,
                                            const program::Statement &statement, TensorId t) {
  const auto *map = std::get_if<program::Map>(&statement.body);
  const program::Tensor &result = program[statement.out];
  if (!map || result.shape != program[t].shape || result.type != program[t].type ||
      !is_float(result.type))
    return std::nullopt;
  const std::optional<Channels> channels = channels_of(program, *map, t, result.shape);
  if (!channels)
    return std::nullopt;
  ExprRows rows;
  rows.count = static_cast<std::size_t>(channels->count);
  std::vector<bool> is_t;
  std::vector<Row> constants;
  for (TensorId operand : map->operands) {
    is_t.push_back(operand == t);
    constants.push_back(operand == t ? Row() : row_of(program[operand], rows.count));
  }
  for (const Row &row : constants)
    rows.operands.push_back(row.data());
  std::optional<Part> part = Decomposition(std::move(rows), std::move(is_t)).part(map->expr);
  if (!part || !part->scale || !is_finite(*part->scale) || !is_finite(part->shift))
    return std::nullopt;
  return ChannelAffine{*channels, std::move(*part->scale), std::move(part->shift)};
}

std::optional<ChannelAffine> compose(const ChannelAffine &second, const ChannelAffine &first) {
  ChannelAffine a = second;
  ChannelAffine b = first;
  if (a.channels.count == 1)
    repeat(a, b.channels);
  if (b.channels.count == 1)
    repeat(b, a.channels);
  if (a.channels != b.channels)
    return std::nullopt;
  b.shift = zip(zip(std::move(b.shift), a.scale, multiply), a.shift, add);
  b.scale = zip(std::move(b.scale), a.scale, multiply);
  if (!is_finite(b.scale) || !is_finite(b.shift))
    return std::nullopt;
  return b;
}

} // namespace tilefuse::nest
