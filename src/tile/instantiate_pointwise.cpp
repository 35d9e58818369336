// SPDX-License-Identifier: Apache-2.0
// Pointwise expressions → maps. Arithmetic on numbers alone is done here; a
// product with 1 and a quotient by 1 vanish. Pointwise functions of the prelude
// are inlined.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.h"
#include "tile/instantiate.h"
#include "tile/prelude.h"

namespace tilefuse::tile {

using Kind = Expression::Kind;
using program::Expr;
using program::TensorId;

// The operands of one map, each once, and shapes that its result is broadcast
// to besides theirs.
struct Instantiation::MapBuilder {
  std::vector<TensorId> operands;
  std::vector<program::Shape> at_least;

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

std::size_t terms_of(const Expr &e) {
  std::size_t terms = 1;
  for (const Expr &arg : e.args)
    terms += terms_of(arg);
  return terms;
}

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
  if (expr.kind == Expr::Kind::Operand && map.at_least.empty())
    return map.operands[at(expr.operand)];
  return emit_map(frame, e.at, std::move(map), std::move(expr), name);
}

Expr Instantiation::pointwise(const Frame &frame, const Expression &e, MapBuilder &map) {
  if (e.kind == Kind::Operation)
    return pointwise_operation(frame, e.op, e, map);
  if (e.kind == Kind::Call)
    return pointwise_call(frame, e, map);
  if (e.kind == Kind::Name && frame.is_tensor(e.name)) {
    const TensorId id = frame.tensor(e.name);
    return map.add(id, program_[id].type);
  }
  if (const Expr *value = e.kind == Kind::Name ? frame.find_value(e.name) : nullptr)
    return *value;
  return number_of(frame.number(e));
}

Expr Instantiation::pointwise_call(const Frame &frame, const Expression &e, MapBuilder &map) {
  const Callee callee = resolve(table_, e.name, frame.function().order);
  switch (callee.kind) {
  case Callee::Kind::Scalar:
    return pointwise_operation(frame, callee.op, e, map);
  case Callee::Kind::Cast:
    return program::converted(pointwise(frame, e.args[0], map), callee.type);
  case Callee::Kind::Builtin:
    return pointwise_builtin(frame, e, callee.builtin->builtin, map);
  case Callee::Kind::Function:
    break;
  case Callee::Kind::Unknown:
    internal_error("a Tile call that passed the check has no function", __FILE__, __LINE__);
  }
  if (callee.function->order == kPreludeOrder && is_pointwise(*callee.function))
    return inlined(frame, e, *callee.function, map);
  const TensorId result = call_function(frame, e, *callee.function).front();
  return map.add(result, program_[result].type);
}

Expr Instantiation::pointwise_builtin(const Frame &frame, const Expression &e, Builtin builtin,
                                      MapBuilder &map) {
  switch (builtin) {
  case Builtin::CastLike:
    return program::converted(pointwise(frame, e.args[0], map),
                              program_[frame.tensor(e.args[1].name)].type);
  case Builtin::AsFloat:
  case Builtin::AsInt:
  case Builtin::AsUint: {
    const std::int64_t bits = frame.integer(e.args[1]);
    const std::optional<DType> type = type_of_bits(builtin, bits);
    if (!type)
      frame.fail(ErrorCode::Type, e.args[1].at,
                 fmt::format("there is no type of {} bits for {}; types are i8 i16 i32 i64 "
                             "u8 u16 u32 u64 f16 f32 f64",
                             bits, e.name));
    return program::converted(pointwise(frame, e.args[0], map), *type);
  }
  case Builtin::Index: {
    const TensorId in = tensor_of(frame, e.args[0], e.name);
    map.at_least.push_back(program_[in].shape);
    return map.add(coordinates(frame, e, in), DType::I32);
  }
  default: {
    const TensorId result = call_builtin(frame, e, builtin);
    return map.add(result, program_[result].type);
  }
  }
}

Expr Instantiation::inlined(const Frame &frame, const Expression &e, const Function &function,
                            MapBuilder &map) {
  Frame inner(function, origin_, &frame, e.at);
  for (std::size_t i = 0; i < e.args.size(); ++i)
    inner.bind(function.parameters[i].name, pointwise(frame, e.args[i], map));
  return pointwise(inner, std::get<Expression>(function.statements[0].body), map);
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
  std::size_t terms = 1;
  for (const Expr &arg : args)
    terms += terms_of(arg);
  if (terms > kMaxTerms)
    frame.fail(ErrorCode::Limit, e.at,
               fmt::format("the expression has more than {} terms; name its parts", kMaxTerms));
  if (is_bitwise(op))
    check_bitwise(frame, op, e.at, args);
  return program::call(op, std::move(args));
}

// Bit operations take integers, or bool but for shifts, and numerals without a fraction.
void Instantiation::check_bitwise(const Frame &frame, ScalarOp op, Position at,
                                  const std::vector<Expr> &args) const {
  const bool shift = op == ScalarOp::BitLeft || op == ScalarOp::BitRight;
  const bool truth = std::all_of(args.begin(), args.end(), [](const Expr &arg) {
    return arg.type == DType::Bool || is_number(arg);
  });
  for (const Expr &arg : args) {
    const bool fraction = is_number(arg) && arg.value != std::floor(arg.value);
    const bool real = !is_number(arg) && is_float(arg.type);
    if (fraction || real || (shift && truth))
      frame.fail(
          ErrorCode::Type, at,
          fmt::format("{} takes integers, got {}", row(op).name,
                      fraction ? fmt::format("{}", arg.value) : std::string(to_string(arg.type))));
  }
}

program::Shape Instantiation::broadcast_shape(const Frame &frame, Position at,
                                              const MapBuilder &map) const {
  program::Shape shape;
  const auto meet = [&](const program::Shape &other, const std::string &what) {
    const std::size_t missing = other.size() > shape.size() ? other.size() - shape.size() : 0;
    shape.insert(shape.begin(), missing, 1);
    for (std::size_t d = 0; d < other.size(); ++d) {
      std::int64_t &size = shape[shape.size() - other.size() + d];
      if (size == 1)
        size = other[d];
      else if (other[d] != 1 && other[d] != size)
        frame.fail(ErrorCode::Shape, at,
                   fmt::format("{} does not broadcast with [{}]: {} against "
                               "{}; sizes must be equal or 1",
                               what, fmt::join(shape, ", "), other[d], size));
    }
  };
  for (const TensorId id : map.operands)
    meet(program_[id].shape, describe(id));
  for (const program::Shape &other : map.at_least)
    meet(other, fmt::format("an index over [{}]", fmt::join(other, ", ")));
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

std::vector<TensorId> Instantiation::call_function(const Frame &frame, const Expression &e,
                                                   const Function &callee) {
  const std::size_t tensors = e.args.size() - e.attributes.size();
  std::vector<TensorId> args;
  for (std::size_t i = 0; i < tensors; ++i)
    args.push_back(tensor_of(frame, e.args[i], callee.parameters[i].name));
  Attributes attributes;
  for (std::size_t i = tensors; i < e.args.size(); ++i)
    attributes[e.attributes[i - tensors]] = frame.scalar(e.args[i]);
  return apply(callee, args, attributes, &frame, e.at);
}

} // namespace tilefuse::tile
