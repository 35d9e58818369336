// SPDX-License-Identifier: Apache-2.0
// Pointwise expressions → maps. Arithmetic on numbers alone is done here; a product with 1 and a
// quotient by 1 vanish.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/instantiate.h"

namespace tilefuse::tile {

using Kind = Expression::Kind;
using program::Expr;
using program::TensorId;

// The operands of one map, each once.
struct Instantiation::MapBuilder {
  std::vector<TensorId> operands;

  Expr add(TensorId tensor, DType type) {
    const auto old = std::find(operands.begin(), operands.end(), tensor);
    const auto position = static_cast<int>(old - operands.begin());
    if (old == operands.end())
      operands.push_back(tensor);
    return program::operand(position, type);
  }
};

namespace {

bool is_number(const Expr &e) { return e.kind == Expr::Kind::Const; }
bool is_one(const Expr &e) { return is_number(e) && e.value == 1; }

Expr number_of(double value) { return program::constant(value, DType::F32); }

// The value of an operation on numbers.
Expr folded(ScalarOp op, const std::vector<Expr> &args) {
  std::vector<double> values;
  for (const Expr &arg : args)
    values.push_back(arg.value);
  return program::constant(evaluate(op, values), row(op).is_comparison ? DType::Bool : DType::F32);
}

} // namespace

TensorId Instantiation::tensor_of(const Frame &frame, const Expression &e,
                                  const std::string &name) {
  if (e.kind == Kind::Name && frame.is_tensor(e.name))
    return frame.tensor(e.name);
  MapBuilder map;
  Expr expr = pointwise(frame, e, map);
  if (expr.kind == Expr::Kind::Operand)
    return map.operands[static_cast<std::size_t>(expr.operand)];
  return emit_map(frame, e.at, std::move(map), std::move(expr), name);
}

Expr Instantiation::pointwise(const Frame &frame, const Expression &e, MapBuilder &map) {
  const auto tensor = [&](TensorId id) { return map.add(id, program_[id].type); };
  if (e.kind == Kind::Name && frame.is_tensor(e.name))
    return tensor(frame.tensor(e.name));
  if (e.kind == Kind::Operation)
    return pointwise_operation(frame, e.op, e, map);
  if (e.kind != Kind::Call)
    return number_of(frame.number(e));
  const std::optional<Builtin> builtin = parse_builtin(e.name);
  if (builtin == Builtin::CastLike) {
    const DType type = program_[frame.tensor(e.args[1].name)].type;
    return program::cast(pointwise(frame, e.args[0], map), type);
  }
  if (builtin)
    return tensor(call_builtin(frame, e, *builtin));
  if (const std::optional<ScalarOp> op = parse_scalar_op(e.name))
    return pointwise_operation(frame, *op, e, map);
  if (const std::optional<DType> type = parse_cast(e.name))
    return program::cast(pointwise(frame, e.args[0], map), *type);
  return tensor(call_function(frame, e));
}

Expr Instantiation::pointwise_operation(const Frame &frame, ScalarOp op, const Expression &e,
                                        MapBuilder &map) {
  std::vector<Expr> args;
  for (const Expression &arg : e.args)
    args.push_back(pointwise(frame, arg, map));
  if (std::all_of(args.begin(), args.end(), is_number))
    return folded(op, args);
  if ((op == ScalarOp::Mul || op == ScalarOp::Div) && is_one(args[1]))
    return args[0];
  if (op == ScalarOp::Mul && is_one(args[0]))
    return args[1];
  return program::call(op, std::move(args));
}

program::Shape Instantiation::broadcast_shape(const Frame &frame, Position at,
                                              const MapBuilder &map) const {
  program::Shape shape;
  for (const TensorId id : map.operands) {
    const program::Shape &other = program_[id].shape;
    const std::size_t missing = other.size() > shape.size() ? other.size() - shape.size() : 0;
    shape.insert(shape.begin(), missing, 1);
    for (std::size_t d = 0; d < other.size(); ++d) {
      std::int64_t &size = shape[shape.size() - other.size() + d];
      if (size == 1)
        size = other[d];
      else if (other[d] != 1 && other[d] != size)
        frame.fail(
            ErrorCode::Shape, at,
            fmt::format("{} does not broadcast with [{}]: {} against {}; sizes must be equal or 1",
                        describe(id), fmt::join(shape, ", "), other[d], size));
    }
  }
  return shape;
}

TensorId Instantiation::emit_map(const Frame &frame, Position at, MapBuilder map, Expr expr,
                                 const std::string &name) {
  if (map.operands.empty())
    frame.fail(ErrorCode::Shape, at, "a number is no tensor; fill(VALUE, D0, …) makes one");
  program::Shape shape = broadcast_shape(frame, at, map);
  const DType type = expr.type;
  return emit(frame, at, {name, type, std::move(shape), program::Role::Temporary, nullptr},
              program::Map{std::move(expr), std::move(map.operands)});
}

TensorId Instantiation::call_function(const Frame &frame, const Expression &e) {
  const auto callee = table_.find(e.name);
  TILEFUSE_CHECK(callee != table_.end(), "a Tile call that passed the check has no function");
  const std::size_t tensors = e.args.size() - e.attributes.size();
  std::vector<TensorId> args;
  for (std::size_t i = 0; i < tensors; ++i)
    args.push_back(tensor_of(frame, e.args[i], callee->second.parameters[i].name));
  Attributes attributes;
  for (std::size_t i = tensors; i < e.args.size(); ++i)
    attributes[e.attributes[i - tensors]] = frame.scalar(e.args[i]);
  return apply(callee->second, args, attributes, &frame, e.at).front();
}

} // namespace tilefuse::tile
