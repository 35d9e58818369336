// SPDX-License-Identifier: Apache-2.0
#include "program/precision/narrow_integers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "target/convert_elements.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

// Whole numbers low to high; sums and products of a few narrow ones are exact in a double.
struct Range {
  double low = 0;
  double high = 0;
};

constexpr double kWidest = 1 << 30; // beyond which nothing is concluded

std::optional<Range> within(Range range) {
  if (range.low < -kWidest || range.high > kWidest)
    return std::nullopt;
  return range;
}

Range range_of(DType type) { return {lowest(type), highest(type)}; }

bool fits(const Range &range, DType type) {
  return range.low >= lowest(type) && range.high <= highest(type);
}

std::optional<Range> range_of_data(const Tensor &tensor) {
  if (tensor.data == nullptr || is_float(tensor.type) || elems(tensor.shape) == 0)
    return std::nullopt;
  const double first = load_element(tensor.data->data(), tensor.type, 0);
  Range range{first, first};
  for (std::int64_t i = 1; i < elems(tensor.shape); ++i) {
    const double value = load_element(tensor.data->data(), tensor.type, i);
    range = {std::min(range.low, value), std::max(range.high, value)};
  }
  return within(range);
}

std::optional<Range> range_of_tensor(const Tensor &tensor) {
  if (tensor.role == Role::Constant)
    return range_of_data(tensor);
  return is_narrow(tensor.type) ? std::optional(range_of(tensor.type)) : std::nullopt;
}

std::optional<Range> combined(ScalarOp op, const Range &a, const Range &b) {
  switch (op) {
  case ScalarOp::Add:
    return within({a.low + b.low, a.high + b.high});
  case ScalarOp::Sub:
    return within({a.low - b.high, a.high - b.low});
  case ScalarOp::Mul: {
    const auto [low, high] =
        std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return within({low, high});
  }
  case ScalarOp::Max:
    return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
  case ScalarOp::Min:
    return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
  default:
    return std::nullopt;
  }
}

std::optional<Range> range_of(const Program &program, const Map &map, const Expr &expr) {
  if (is_float(expr.type) || expr.type == DType::Bool)
    return std::nullopt;
  if (expr.kind == Expr::Kind::Const)
    return within({expr.value, expr.value});
  if (expr.kind == Expr::Kind::Operand)
    return range_of_tensor(program[map.operands[at(expr.operand)]]);
  if (expr.kind != Expr::Kind::Call && expr.kind != Expr::Kind::Cast)
    return std::nullopt;
  const std::optional<Range> a = range_of(program, map, expr.args[0]);
  if (!a || (expr.kind == Expr::Kind::Cast && !fits(*a, expr.type)))
    return std::nullopt;
  if (expr.kind == Expr::Kind::Cast)
    return a;
  const std::optional<Range> b =
      expr.args.size() == 2 ? range_of(program, map, expr.args[1]) : std::nullopt;
  const std::optional<Range> range = b ? combined(expr.op, *a, *b) : std::nullopt;
  return range && fits(*range, expr.type) ? range : std::nullopt;
}

// The operand that an expression of known range repeats, if it does.
std::optional<int> copied_operand(const Program &program, const Map &map, const Expr &expr) {
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand;
  if (expr.kind == Expr::Kind::Cast)
    return copied_operand(program, map, expr.args[0]);
  if (expr.kind != Expr::Kind::Call || expr.op != ScalarOp::Sub)
    return std::nullopt;
  const std::optional<Range> taken = range_of(program, map, expr.args[1]);
  return taken && taken->low == 0 && taken->high == 0 ? copied_operand(program, map, expr.args[0])
                                                      : std::nullopt;
}

class Narrowing {
public:
  explicit Narrowing(Program program) : program_(std::move(program)) {}

  Program run() {
    for (Statement &statement : std::exchange(program_.statements, {})) {
      if (auto *body = std::get_if<Contraction>(&statement.body))
        narrow(*body, statement.out);
      else if (const auto *map = std::get_if<Map>(&statement.body))
        maps_[statement.out] = *map;
      statements_.push_back(std::move(statement));
    }
    return with_statements(std::move(program_), std::move(statements_), true);
  }

private:
  void narrow(Contraction &body, TensorId out) {
    if (body.agg != Agg::Sum || body.comb != Comb::Mul || program_[out].type != DType::I32)
      return;
    std::array<TensorId, 2> found{};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::optional<TensorId> narrowed = this->narrowed(body.in[k].tensor);
      if (!narrowed)
        return;
      found[k] = *narrowed;
    }
    for (std::size_t k = 0; k < 2; ++k)
      body.in[k].tensor = found[k];
  }

  // The same values in fewer bits; nothing where they may need more.
  std::optional<TensorId> narrowed(TensorId id) {
    if (is_narrow(program_[id].type))
      return id;
    const auto [known, is_new] = narrowed_.try_emplace(id);
    if (is_new)
      known->second =
          program_[id].role == Role::Constant ? narrowed_constant(id) : narrowed_map(id);
    return known->second;
  }

  static std::optional<DType> narrowest(const std::optional<Range> &range) {
    for (const DType type : {DType::I8, DType::U8, DType::I16})
      if (range && fits(*range, type))
        return type;
    return std::nullopt;
  }

  std::optional<TensorId> narrowed_constant(TensorId id) {
    const Tensor from = program_[id];
    const std::optional<DType> type = narrowest(range_of_data(from));
    if (!type)
      return std::nullopt;
    const std::int64_t count = elems(from.shape);
    Bytes bytes(static_cast<std::size_t>(count * size_bytes(*type)));
    convert_elements(from.data->data(), from.type, bytes.data(), *type, count);
    return program_.add({.name = from.name,
                         .type = *type,
                         .shape = from.shape,
                         .role = Role::Constant,
                         .data = std::make_shared<const Bytes>(std::move(bytes))});
  }

  // A map that changes no value is undone; another is computed once more, in the narrow type.
  std::optional<TensorId> narrowed_map(TensorId id) {
    const auto found = maps_.find(id);
    if (found == maps_.end())
      return std::nullopt;
    const Map &map = found->second;
    const std::optional<DType> type = narrowest(range_of(program_, map, map.expr));
    if (!type)
      return std::nullopt;
    if (const std::optional<int> copied = copied_operand(program_, map, map.expr)) {
      const TensorId from = map.operands[at(*copied)];
      if (is_narrow(program_[from].type) && program_[from].shape == program_[id].shape)
        return from;
    }
    Tensor tensor = program_[id];
    tensor.type = *type;
    tensor.role = Role::Temporary;
    const TensorId out = program_.add(std::move(tensor));
    statements_.push_back({out, Map{cast(map.expr, *type), map.operands}, "narrow"});
    return out;
  }

  Program program_;
  std::vector<Statement> statements_;
  std::map<TensorId, Map> maps_;
  std::map<TensorId, std::optional<TensorId>> narrowed_;
};

} // namespace

Program narrow_integers(Program program) { return Narrowing(std::move(program)).run(); }

} // namespace tilefuse::program
