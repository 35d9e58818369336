// SPDX-License-Identifier: Apache-2.0
#include "tile/interpret.h"
#include "base/index.h"
#include "paths.h"

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tilefuse::test {
namespace {

using namespace program;
using Tensors = std::vector<std::vector<double>>;
using Point = std::vector<std::int64_t>;

std::optional<std::int64_t> value_of(const Affine &affine, const Point &point) {
  Rational value = affine.constant;
  for (std::size_t i = 0; i < point.size(); ++i)
    value = value + affine.coeff[i] * Rational(point[i]);
  return value.is_integer() ? std::optional(value.num()) : std::nullopt;
}

// Row-major position of a subscripted element, or nothing outside the tensor.
std::optional<std::size_t> position(const std::vector<Affine> &subscripts, const Shape &shape,
                                    const Point &point) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::optional<std::int64_t> k = value_of(subscripts[d], point);
    if (!k || *k < 0 || *k >= shape[d])
      return std::nullopt;
    result = result * shape[d] + *k;
  }
  return static_cast<std::size_t>(result);
}

struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

// Narrows the range of the index by 0 <= affine < bound if affine is of that index alone.
void narrow(Range &range, const Affine &affine, std::size_t index, std::int64_t bound) {
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    if (affine.coeff[i].is_zero() == (i == index))
      return;
  const double c = static_cast<double>(affine.coeff[index].num()) /
                   static_cast<double>(affine.coeff[index].den());
  const double k =
      static_cast<double>(affine.constant.num()) / static_cast<double>(affine.constant.den());
  const double a = (0 - k) / c;
  const double b = (static_cast<double>(bound) - 1 - k) / c;
  range.low = std::max(range.low, static_cast<std::int64_t>(std::ceil(std::min(a, b) - 1e-9)));
  range.high = std::min(range.high, static_cast<std::int64_t>(std::floor(std::max(a, b) + 1e-9)));
}

std::vector<Range> ranges_of(const Program &program, const Contraction &c, const Shape &out) {
  std::vector<Range> ranges(c.indices.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t d = 0; d < out.size(); ++d)
      narrow(ranges[i], c.out[d], i, out[d]);
    for (const Access &access : c.in)
      for (std::size_t d = 0; d < access.subscripts.size(); ++d)
        narrow(ranges[i], access.subscripts[d], i, program[access.tensor].shape[d]);
    for (const Constraint &constraint : c.constraints)
      narrow(ranges[i], constraint.expr, i, constraint.bound);
    if (ranges[i].high - ranges[i].low > 1000 || ranges[i].low < -1000)
      throw std::logic_error("index " + c.indices[i] + " is not bounded on its own");
  }
  return ranges;
}

bool advance(Point &point, const std::vector<Range> &ranges) {
  for (std::size_t i = point.size(); i-- > 0;) {
    if (++point[i] <= ranges[i].high)
      return true;
    point[i] = ranges[i].low;
  }
  return false;
}

double aggregate(Agg agg, std::optional<double> old, double value) {
  if (!old || agg == Agg::Assign)
    return value;
  if (agg == Agg::Sum)
    return *old + value;
  if (agg == Agg::Product)
    return *old * value;
  return agg == Agg::Max ? std::max(*old, value) : std::min(*old, value);
}

std::optional<double> product_at(const Program &program, const Contraction &c,
                                 const Tensors &values, const Point &point) {
  for (const Constraint &constraint : c.constraints) {
    const auto k = value_of(constraint.expr, point);
    if (!k || *k < 0 || *k >= constraint.bound)
      return std::nullopt;
  }
  std::vector<double> operands;
  for (const Access &access : c.in) {
    const auto k = position(access.subscripts, program[access.tensor].shape, point);
    if (!k)
      return std::nullopt;
    operands.push_back(values[at(access.tensor)][*k]);
  }
  if (operands.size() == 1)
    return operands[0];
  if (compares(c.comb))
    return operands[0] == operands[1] ? (c.comb == Comb::Select ? operands[2] : 1) : 0;
  return c.comb == Comb::Mul ? operands[0] * operands[1] : operands[0] + operands[1];
}

void run(const Program &program, const Contraction &c, TensorId out, Tensors &values) {
  const Shape &shape = program[out].shape;
  const std::vector<Range> ranges = ranges_of(program, c, shape);
  std::vector<std::optional<double>> result(static_cast<std::size_t>(elems(shape)));
  Point point;
  bool more = true;
  for (const Range &range : ranges) {
    point.push_back(range.low);
    more = more && range.low <= range.high;
  }
  for (; more; more = advance(point, ranges)) {
    const auto k = position(c.out, shape, point);
    const auto value = k ? product_at(program, c, values, point) : std::nullopt;
    if (value)
      result[*k] = aggregate(c.agg, result[*k], *value);
  }
  for (std::size_t i = 0; i < result.size(); ++i)
    values[at(out)].push_back(result[i].value_or(c.init ? values[at(*c.init)][i] : 0));
}

double value_of(const Expr &expr, const std::vector<double> &operands) {
  if (expr.kind == Expr::Kind::Operand)
    return operands[at(expr.operand)];
  if (expr.kind == Expr::Kind::Const)
    return expr.value;
  std::vector<double> args;
  for (const Expr &arg : expr.args)
    args.push_back(value_of(arg, operands));
  if (expr.kind == Expr::Kind::Cast) {
    double cell = 0;
    store_element(&cell, expr.type, 0, args[0]);
    return load_element(&cell, expr.type, 0);
  }
  if (is_bitwise(expr.op))
    return static_cast<double>(evaluate_bits(expr.op, expr.type,
                                             static_cast<std::int64_t>(args.front()),
                                             static_cast<std::int64_t>(args.back())));
  return evaluate(expr.op, args, !is_float(expr.type));
}

// Position in a tensor of `shape` that element `i` of the broadcast shape `to` reads.
std::size_t broadcast_position(std::size_t i, const Shape &to, const Shape &shape) {
  const Shape to_strides = row_major(to);
  std::size_t result = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t t = d + to.size() - shape.size();
    const std::int64_t k = static_cast<std::int64_t>(i) / to_strides[t] % to[t];
    result = result * static_cast<std::size_t>(shape[d]) +
             static_cast<std::size_t>(shape[d] == 1 ? 0 : k);
  }
  return result;
}

void run(const Program &program, const Map &map, TensorId out, Tensors &values) {
  const Shape &shape = program[out].shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(elems(shape)); ++i) {
    std::vector<double> operands;
    for (const TensorId id : map.operands)
      operands.push_back(values[at(id)][broadcast_position(i, shape, program[id].shape)]);
    values[at(out)].push_back(value_of(map.expr, operands));
  }
}

void run(const Program &, const View &view, TensorId out, Tensors &values) {
  values[at(out)] = values[at(view.in)];
}

} // namespace

Tensors interpret(const Program &program, const Tensors &inputs) {
  Tensors values(program.tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[at(program.inputs[i])] = inputs[i];
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    for (std::int64_t i = 0; tensor.data && i < elems(tensor.shape); ++i)
      values[t].push_back(load_element(tensor.data->data(), tensor.type, i));
  }
  for (const Statement &statement : program.statements)
    std::visit([&](const auto &body) { run(program, body, statement.out, values); },
               statement.body);
  return values;
}

const tile::Library &library() {
  static const tile::Library instance = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  return instance;
}

Program operator_program(const std::string &function, const std::vector<test::Values> &inputs,
                         const tile::Attributes &attributes) {
  Program program;
  for (const test::Values &input : inputs)
    program.inputs.push_back(
        program.add({.name = "x", .type = input.type, .shape = input.shape, .role = Role::Input}));
  program.outputs = library().instantiate(function, program.inputs, attributes, program, function);
  verify(program);
  return program;
}

test::Values run_operator(const std::string &function, const std::vector<test::Values> &inputs,
                          const tile::Attributes &attributes) {
  const Program program = operator_program(function, inputs, attributes);
  std::vector<std::vector<double>> data;
  for (const test::Values &input : inputs)
    data.push_back(input.data);
  const TensorId out = program.outputs.at(0);
  return {program[out].shape, interpret(program, data)[at(out)], program[out].type};
}

test::Values numbers(const Shape &shape, int seed) {
  test::Values values{shape, {}};
  for (std::int64_t i = 0; i < elems(shape); ++i)
    values.data.push_back(static_cast<double>((i * 7 + seed * 5 + i / 3) % 11 - 4));
  return values;
}

test::Values counted(const Shape &shape) {
  test::Values values{shape, {}};
  for (std::int64_t i = 0; i < elems(shape); ++i)
    values.data.push_back(static_cast<double>(i));
  return values;
}

} // namespace tilefuse::test
