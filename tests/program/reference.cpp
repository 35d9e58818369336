// SPDX-License-Identifier: Apache-2.0
#include "program/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "program/storage/boxes.h"

namespace tilefuse::program::testing {
namespace {

using Point = std::vector<std::int64_t>;

constexpr std::int64_t kLeast = -4;
constexpr std::int64_t kMost = 400;

double cast_value(double value, DType from, DType to) {
  return is_float(to) ? value : cast_to_integer(value, from, to);
}

double evaluate_expr(const Expr &expr, const Values &operands) {
  if (expr.kind == Expr::Kind::Const)
    return expr.value;
  if (expr.kind == Expr::Kind::Operand)
    return operands[at(expr.operand)];
  Values args;
  for (const Expr &arg : expr.args)
    args.push_back(evaluate_expr(arg, operands));
  if (expr.kind == Expr::Kind::Cast)
    return cast_value(args.front(), expr.args.front().type, expr.type);
  return evaluate(expr.op, args, !is_float(expr.type));
}

struct Condition {
  const Affine *affine;
  std::int64_t bound;
  std::size_t last;   // number of indices that have to be set before it can be tested
  bool is_constraint; // which may hold for a fraction
};

Rational value_of(const Affine &affine, const Point &point) {
  Rational sum = affine.constant;
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    if (!affine.coeff[i].is_zero())
      sum = sum + affine.coeff[i] * Rational(point[i]);
  return sum;
}

bool holds(const Condition &condition, const Point &point) {
  const Rational value = value_of(*condition.affine, point);
  return (condition.is_constraint || value.is_integer()) && value >= Rational(0) &&
         value < Rational(condition.bound);
}

std::vector<Condition> conditions_of(const Program &program, const Statement &statement,
                                     const Contraction &body) {
  std::vector<Condition> result;
  const auto add = [&](const Affine &affine, std::int64_t bound, bool is_constraint) {
    std::size_t last = affine.coeff.size();
    while (last > 0 && affine.coeff[last - 1].is_zero())
      --last;
    result.push_back({&affine, bound, last, is_constraint});
  };
  const auto add_all = [&](const std::vector<Affine> &subscripts, const Shape &shape) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      add(subscripts[d], shape[d], false);
  };
  add_all(body.out, program[statement.out].shape);
  for (const Access &access : body.in)
    add_all(access.subscripts, program[access.tensor].shape);
  for (const Constraint &constraint : body.constraints)
    add(constraint.expr, constraint.bound, true);
  return result;
}

// The values that index `set` can have by the conditions that it completes with coefficient 1;
// point[set] is 0.
std::pair<std::int64_t, std::int64_t> range_of(const std::vector<Condition> &conditions,
                                               const Point &point, std::size_t set) {
  std::pair<std::int64_t, std::int64_t> range{kLeast, kMost};
  for (const Condition &condition : conditions) {
    if (condition.last != set + 1 || condition.affine->coeff[set] != Rational(1))
      continue;
    const Rational rest = value_of(*condition.affine, point);
    if (!rest.is_integer())
      continue;
    range.first = std::max(range.first, -rest.num());
    range.second = std::min(range.second, condition.bound - 1 - rest.num());
  }
  return range;
}

void each_point(const std::vector<Condition> &conditions, Point &point, std::size_t set,
                const std::function<void()> &visit) {
  for (const Condition &condition : conditions)
    if (condition.last == set && !holds(condition, point))
      return;
  if (set == point.size())
    return visit();
  point[set] = 0;
  const auto [least, most] = range_of(conditions, point, set);
  for (std::int64_t i = least; i <= most; ++i) {
    point[set] = i;
    each_point(conditions, point, set + 1, visit);
  }
  point[set] = 0;
}

Point subscripts_at(const std::vector<Affine> &subscripts, const Point &point) {
  Point result;
  for (const Affine &affine : subscripts)
    result.push_back(value_of(affine, point).num());
  return result;
}

double aggregate(Agg agg, bool first, double old, double value) {
  if (first || agg == Agg::Assign)
    return value;
  switch (agg) {
  case Agg::Sum:
    return old + value;
  case Agg::Product:
    return old * value;
  case Agg::Max:
    return std::max(old, value);
  default:
    return std::min(old, value);
  }
}

// How statements reach elements; the two machines differ only here.
struct Memory {
  std::function<double(TensorId, const Point &)> load;
  std::function<void(TensorId, const Point &, double)> store;
};

void run_contraction(const Program &program, const Statement &statement, const Contraction &body,
                     Memory &memory) {
  std::map<Point, double> written;
  Point point(body.indices.size(), 0);
  each_point(conditions_of(program, statement, body), point, 0, [&] {
    Values args;
    for (const Access &access : body.in)
      args.push_back(memory.load(access.tensor, subscripts_at(access.subscripts, point)));
    double value = args[0];
    const std::size_t values = args.size() - body.picks.size();
    if (body.comb == Comb::Mul || (body.comb == Comb::Pick && values == 2))
      value *= args[1];
    if (body.comb == Comb::Add)
      value += args[1];
    if (compares(body.comb))
      value = args[0] == args[1] ? (body.comb == Comb::Select ? args[2] : 1) : 0;
    if (body.comb == Comb::Term)
      value = evaluate_expr(body.term, args);
    for (std::size_t j = 0; j < body.picks.size(); ++j)
      if (args[values + j] != static_cast<double>(point[body.picks[j]]))
        value = 0;
    const auto [slot, first] = written.emplace(subscripts_at(body.out, point), 0);
    slot->second = aggregate(body.agg, first, slot->second, value);
  });
  for (const auto &[where, value] : written)
    memory.store(statement.out, where, value);
}

void each_element(const Shape &shape, const std::function<void(const Point &)> &visit) {
  Point point(shape.size(), 0);
  for (std::int64_t i = 0; i < elems(shape); ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      point[d] = rest % shape[d];
    visit(point);
  }
}

void run_map(const Program &program, const Statement &statement, const Map &map, Memory &memory) {
  each_element(program[statement.out].shape, [&](const Point &point) {
    Values args;
    for (TensorId operand : map.operands) {
      const Shape &shape = program[operand].shape;
      Point where(point.end() - static_cast<std::ptrdiff_t>(shape.size()), point.end());
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] == 1)
          where[d] = 0;
      args.push_back(memory.load(operand, where));
    }
    memory.store(statement.out, point, evaluate_expr(map.expr, args));
  });
}

void copy(const Program &program, TensorId from, TensorId to, Memory &memory) {
  each_element(program[to].shape,
               [&](const Point &point) { memory.store(to, point, memory.load(from, point)); });
}

Values constant_values(const Tensor &tensor) {
  Values values;
  for (std::int64_t i = 0; i < elems(tensor.shape); ++i)
    values.push_back(load_element(tensor.data->data(), tensor.type, i));
  return values;
}

std::size_t offset_of(const Point &point, const Shape &strides, std::int64_t offset = 0) {
  for (std::size_t d = 0; d < point.size(); ++d)
    offset += point[d] * strides[d];
  return static_cast<std::size_t>(offset);
}

} // namespace

void fill_constants(Program &program) {
  int seed = 1;
  for (Tensor &tensor : program.tensors) {
    if (tensor.role != Role::Constant)
      continue;
    auto data = std::make_shared<Bytes>(
        static_cast<std::size_t>(elems(tensor.shape) * size_bytes(tensor.type)));
    for (std::int64_t i = 0; i < elems(tensor.shape); ++i)
      store_element(data->data(), tensor.type, i, static_cast<double>((i * 7 + seed * 5) % 9 - 4));
    tensor.data = std::move(data);
    ++seed;
  }
}

Values input_values(const Program &program, std::size_t k) {
  Values values;
  for (std::int64_t i = 0; i < elems(program[program.inputs[k]].shape); ++i)
    values.push_back(static_cast<double>((i * 5 + static_cast<std::int64_t>(k) * 3) % 11 - 5));
  return values;
}

std::vector<Values> run(const Program &program) {
  std::vector<Values> inputs;
  for (std::size_t k = 0; k < program.inputs.size(); ++k)
    inputs.push_back(input_values(program, k));
  return run(program, inputs);
}

std::vector<Values> run(const Program &program, const std::vector<Values> &inputs) {
  std::vector<Values> values(program.tensors.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].assign(static_cast<std::size_t>(elems(program.tensors[i].shape)), 0);
    if (program.tensors[i].role == Role::Constant)
      values[i] = constant_values(program.tensors[i]);
  }
  for (std::size_t k = 0; k < program.inputs.size(); ++k)
    values[at(program.inputs[k])] = inputs.at(k);
  const auto element = [&](TensorId id, const Point &point) -> double & {
    return values[at(id)][offset_of(point, row_major(program[id].shape))];
  };
  Memory memory{element,
                [&](TensorId id, const Point &point, double value) { element(id, point) = value; }};
  for (const Statement &statement : program.statements) {
    if (const auto *map = std::get_if<Map>(&statement.body))
      run_map(program, statement, *map, memory);
    else if (const auto *view = std::get_if<View>(&statement.body))
      values[at(statement.out)] = values[at(view->in)];
    else {
      const auto &body = std::get<Contraction>(statement.body);
      if (body.init)
        copy(program, *body.init, statement.out, memory);
      run_contraction(program, statement, body, memory);
    }
  }
  std::vector<Values> outputs;
  for (TensorId id : program.outputs)
    outputs.push_back(values[at(id)]);
  return outputs;
}

std::vector<Values> run(const StoredProgram &stored) {
  const Program &program = stored.program;
  std::vector<Values> buffers;
  for (const Buffer &buffer : stored.buffers)
    buffers.emplace_back(static_cast<std::size_t>(buffer.elems),
                         buffer.needs_zero ? 0 : std::numeric_limits<double>::quiet_NaN());
  const auto element = [&](TensorId id, const Point &point) -> double & {
    const Window &window = stored.windows[at(id)];
    return buffers.at(static_cast<std::size_t>(to_int(window.buffer)))
        .at(offset_of(point, window.strides, window.offset));
  };
  const auto load_all = [&](TensorId id, const Values &values) {
    std::size_t i = 0;
    each_element(program[id].shape, [&](const Point &point) { element(id, point) = values[i++]; });
  };
  for (std::size_t k = 0; k < program.inputs.size(); ++k)
    load_all(program.inputs[k], input_values(program, k));
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].role == Role::Constant)
      load_all(TensorId{static_cast<int>(i)}, constant_values(program.tensors[i]));
  Memory memory{element,
                [&](TensorId id, const Point &point, double value) { element(id, point) = value; }};
  for (const Statement &statement : program.statements) {
    if (const auto *map = std::get_if<Map>(&statement.body)) {
      run_map(program, statement, *map, memory);
      continue;
    }
    const auto &body = std::get<Contraction>(statement.body);
    const auto shares = [&] {
      const Window &a = stored.windows[at(*body.init)];
      const Window &b = stored.windows[at(statement.out)];
      return a.buffer == b.buffer && a.offset == b.offset && a.strides == b.strides;
    };
    const auto is_alone = [&] {
      return std::none_of(
          program.statements.begin(), program.statements.end(), [&](const Statement &other) {
            return other.out != statement.out &&
                   stored.windows[at(other.out)].buffer == stored.windows[at(statement.out)].buffer;
          });
    };
    if (is_alone() && spans_result(program[statement.out].shape, body))
      each_element(program[statement.out].shape,
                   [&](const Point &point) { memory.store(statement.out, point, 0); });
    if (body.init && !shares())
      copy(program, *body.init, statement.out, memory);
    run_contraction(program, statement, body, memory);
  }
  std::vector<Values> outputs;
  for (TensorId id : program.outputs) {
    outputs.emplace_back();
    each_element(program[id].shape,
                 [&](const Point &point) { outputs.back().push_back(element(id, point)); });
  }
  return outputs;
}

std::string lines_of(const Program &program) {
  std::string text = to_text(program);
  for (std::size_t hash = text.find(" hash \""); hash != std::string::npos;
       hash = text.find(" hash \""))
    text.erase(hash, text.find('"', hash + 7) + 1 - hash);
  return text;
}

Program program_of(const std::string &text) {
  Program program = parse_program(text, "test");
  fill_constants(program);
  verify(program);
  return program;
}

} // namespace tilefuse::program::testing
