// SPDX-License-Identifier: Apache-2.0
#include "program/precision/scaled.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/index.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

using MaybeGrid = std::optional<Grid>;

OnValues in_type(ScalarOp op, DType type) {
  return [op, type](double a, double b) {
    const double args[] = {a, b};
    const double value = evaluate(op, args, !is_float(type));
    return is_float(type) ? nearest(value, type) : value;
  };
}

MaybeGrid combine(ScalarOp op, const Grid &a, const Grid &b) {
  return zip(a, b, in_type(op, DType::F32));
}

std::optional<Scaled> constants(ScalarOp op, DType type, const std::vector<Scaled> &args) {
  if (args.size() == 1) {
    const auto value = [&](double a) {
      const double result = evaluate(op, std::span(&a, 1), !is_float(type));
      return is_float(type) ? nearest(result, type) : result;
    };
    return constant_value(each(args[0].shift, value));
  }
  if (args.size() != 2)
    return std::nullopt;
  const MaybeGrid result = zip(args[0].shift, args[1].shift, in_type(op, type));
  return result ? std::optional(constant_value(*result)) : std::nullopt;
}

// Both ends of the bounds by the same operation.
bool change_bounds(Scaled &value, ScalarOp op, const Grid &by) {
  for (MaybeGrid *bound : {&value.low, &value.high})
    if (*bound) {
      *bound = combine(op, **bound, by);
      if (!*bound)
        return false;
    }
  return true;
}

// What the term's integers would be more by to add a number, if it is whole: as the bias of a
// quantised convolution, which counts in the units of its sums.
MaybeGrid in_units(const Term &term, const Grid &number) {
  constexpr double kNear = 1e-3, kDigits = 0x1p-22;
  bool is_whole = true;
  MaybeGrid units = zip(number, term.scale, [&](double value, double scale) {
    const double exact = value / scale, whole = std::nearbyint(exact);
    is_whole = is_whole && std::fabs(whole) < std::numeric_limits<std::int32_t>::max() &&
               std::fabs(exact - whole) <= kNear + std::fabs(whole) * kDigits;
    return whole;
  });
  return is_whole ? units : std::nullopt;
}

std::optional<Scaled> add_constant_to(Scaled value, const Grid &number) {
  if (value.terms.size() == 1 && is_single(value.shift, 0) && !value.low && !value.high) {
    Term &term = value.terms.front();
    if (const MaybeGrid units = in_units(term, number)) {
      const MaybeGrid offset = zip(term.offset, *units, std::plus<>());
      if (offset) {
        term.offset = *offset;
        return value;
      }
    }
  }
  const MaybeGrid shift = combine(ScalarOp::Add, value.shift, number);
  if (!shift || !change_bounds(value, ScalarOp::Add, number))
    return std::nullopt;
  value.shift = *shift;
  return value;
}

std::optional<Scaled> scale_by(Scaled value, ScalarOp op, const Grid &number) {
  const auto is_fit = [](double v) { return v > 0 && std::isfinite(v); };
  if (!all_of(number, is_fit))
    return std::nullopt;
  for (Term &term : value.terms) {
    const MaybeGrid scale = combine(op, term.scale, number);
    if (!scale)
      return std::nullopt;
    term.scale = *scale;
  }
  const MaybeGrid shift = combine(op, value.shift, number);
  if (!shift || !change_bounds(value, op, number))
    return std::nullopt;
  value.shift = *shift;
  return value;
}

std::optional<Scaled> limited(Scaled value, ScalarOp op, const Grid &number) {
  for (const bool is_low : {true, false}) {
    MaybeGrid &bound = is_low ? value.low : value.high;
    const bool sets = is_low == (op == ScalarOp::Max);
    if (bound || sets)
      bound = bound ? combine(op, *bound, number) : MaybeGrid(number);
    if ((sets || bound) && !bound)
      return std::nullopt;
  }
  return value;
}

std::optional<Scaled> negated(Scaled value) {
  if (value.low || value.high)
    return std::nullopt;
  const auto minus = [](double v) { return -v; };
  value.shift = each(std::move(value.shift), minus);
  for (Term &term : value.terms)
    term.scale = each(std::move(term.scale), minus);
  return value;
}

std::optional<Scaled> sum(Scaled a, const Scaled &b) {
  if (a.low || a.high || b.low || b.high)
    return std::nullopt;
  const MaybeGrid shift = combine(ScalarOp::Add, a.shift, b.shift);
  if (!shift)
    return std::nullopt;
  a.shift = *shift;
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

std::optional<Scaled> of_integers(ScalarOp op, Scaled value, const Scaled &other) {
  Term &term = value.terms.front();
  if (value.terms.size() != 1 || !other.is_constant() || !is_single(term.scale, 1) ||
      (op != ScalarOp::Add && op != ScalarOp::Sub))
    return std::nullopt;
  const MaybeGrid offset = zip(term.offset, other.shift, in_type(op, DType::I64));
  if (!offset)
    return std::nullopt;
  term.offset = *offset;
  return value;
}

std::optional<Scaled> of_floats(ScalarOp op, const Scaled &a, const Scaled &b) {
  switch (op) {
  case ScalarOp::Add:
    if (!a.is_constant() && !b.is_constant())
      return sum(a, b);
    return a.is_constant() ? add_constant_to(b, a.shift) : add_constant_to(a, b.shift);
  case ScalarOp::Sub: {
    const std::optional<Scaled> minus = negated(b);
    return minus ? of_floats(ScalarOp::Add, a, *minus) : std::nullopt;
  }
  case ScalarOp::Mul:
    if (a.is_constant())
      return scale_by(b, op, a.shift);
    return b.is_constant() ? scale_by(a, op, b.shift) : std::nullopt;
  case ScalarOp::Div:
    return b.is_constant() ? scale_by(a, op, b.shift) : std::nullopt;
  case ScalarOp::Max:
  case ScalarOp::Min:
    if (a.is_constant())
      return limited(b, op, a.shift);
    return b.is_constant() ? limited(a, op, b.shift) : std::nullopt;
  default:
    return std::nullopt;
  }
}

Expr term_expr(Program &program, Operands &operands, const Term &term, DType type) {
  Expr value = operands.read(program, term.whole);
  if (!is_single(term.offset, 0))
    value = call(ScalarOp::Add, {cast(std::move(value), DType::I32),
                                 operands.read(program, term.offset, DType::I32)});
  value = cast(std::move(value), type);
  if (!is_single(term.scale, 1))
    value = call(ScalarOp::Mul, {std::move(value), operands.read(program, term.scale, type)});
  return value;
}

} // namespace

Scaled constant_value(Grid grid) {
  Scaled value;
  value.shift = std::move(grid);
  return value;
}

Scaled integers(TensorId whole, double offset) {
  Scaled value;
  value.terms.push_back({whole, single_grid(offset), single_grid(1)});
  return value;
}

std::optional<Scaled> apply(ScalarOp op, DType type, const std::vector<Scaled> &args) {
  if (std::all_of(args.begin(), args.end(), [](const Scaled &arg) { return arg.is_constant(); }))
    return constants(op, type, args);
  if (op == ScalarOp::Neg && is_float(type))
    return negated(args[0]);
  if (args.size() != 2)
    return std::nullopt;
  if (type == DType::F32)
    return of_floats(op, args[0], args[1]);
  if (type != DType::I32)
    return std::nullopt;
  if (args[0].is_constant())
    return op == ScalarOp::Add ? of_integers(op, args[1], args[0]) : std::nullopt;
  return of_integers(op, args[0], args[1]);
}

std::optional<Scaled> converted(const Scaled &value, DType from, DType to) {
  if (from == to)
    return value;
  if (value.is_constant()) {
    const auto as = [&](double v) {
      return is_float(to) ? nearest(v, to) : cast_to_integer(v, from, to);
    };
    return constant_value(each(value.shift, as));
  }
  const bool widens = is_narrow(from) || from == DType::I32;
  return widens && (to == DType::I32 || to == DType::F32) ? std::optional(value) : std::nullopt;
}

const Term *as_term(const Scaled &value) {
  return value.terms.size() == 1 && is_single(value.shift, 0) && !value.low && !value.high
             ? &value.terms.front()
             : nullptr;
}

const Term *as_uniform(const Scaled &value) {
  const Term *term = as_term(value);
  return term != nullptr && term->offset.is_single() && term->scale.is_single() &&
                 term->scale.single() > 0
             ? term
             : nullptr;
}

Expr Operands::read(const Program &program, TensorId id) {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  const auto position = static_cast<int>(found - ids_.begin());
  if (found == ids_.end())
    ids_.push_back(id);
  return operand(position, program[id].type);
}

Expr Operands::read(Program &program, const Grid &grid, DType type) {
  return grid.is_single() ? constant(grid.single(), type)
                          : read(program, add_constant(program, grid, type, ""));
}

Expr to_expr(Program &program, Operands &operands, const Scaled &value, DType type) {
  if (value.is_constant())
    return operands.read(program, value.shift, type);
  Expr result = term_expr(program, operands, value.terms.front(), type);
  for (std::size_t k = 1; k < value.terms.size(); ++k)
    result = call(ScalarOp::Add,
                  {std::move(result), term_expr(program, operands, value.terms[k], type)});
  const auto then = [&](ScalarOp op, const Grid &grid) {
    result = call(op, {std::move(result), operands.read(program, grid, type)});
  };
  if (!is_single(value.shift, 0))
    then(ScalarOp::Add, value.shift);
  if (value.low)
    then(ScalarOp::Max, *value.low);
  if (value.high)
    then(ScalarOp::Min, *value.high);
  return result;
}

} // namespace tilefuse::program
