// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/math.h"

#include <array>
#include <cmath>
#include <span>

#include "kernel/rules.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel::simulation {
namespace {

std::int64_t signed_bits(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

double rounded(double value, DType elem) {
  return elem == DType::F32 ? static_cast<double>(static_cast<float>(value))
                            : narrowed(value, elem);
}

template <class F> void each(const Rows &rows, F operation) {
  for (std::size_t i = 0; i < rows.count; ++i)
    rows.to[i] = operation(rows.a[i], rows.b[i]);
}

// The operation in double, rounded: exact for + - * / and square roots of floats.
template <class F> void each_real(DType elem, const Rows &rows, F operation) {
  if (elem == DType::F32) {
    each(rows, [&](Cell a, Cell b) {
      return Cell{.real = static_cast<double>(static_cast<float>(operation(a.real, b.real)))};
    });
  } else {
    each(rows,
         [&](Cell a, Cell b) { return Cell{.real = rounded(operation(a.real, b.real), elem)}; });
  }
}

// I: the integers, with or without sign, that the operation takes.
template <class I, class F> void each_whole(const Rows &rows, F operation) {
  each(rows, [&](Cell a, Cell b) {
    return Cell{.whole = static_cast<std::int64_t>(
                    operation(static_cast<I>(a.whole), static_cast<I>(b.whole)))};
  });
}

void apply_bits(ScalarOp op, DType elem, const Rows &rows) {
  each(rows,
       [&](Cell a, Cell b) { return Cell{.whole = evaluate_bits(op, elem, a.whole, b.whole)}; });
}

void apply_other(ScalarOp op, DType elem, const Rows &rows) {
  const bool is_real = is_float(elem);
  const auto arity = static_cast<std::size_t>(row(op).arity);
  const DType type = row(op).is_comparison ? DType::Bool : elem;
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::array<double, 2> args{};
    for (std::size_t k = 0; k < arity; ++k) {
      const Cell cell = k == 0 ? rows.a[i] : rows.b[i];
      args[k] = is_real ? cell.real : number_of(cell.whole, elem);
    }
    rows.to[i] = cell_of(evaluate(op, std::span(args).first(arity), !is_real), type);
  }
}

void apply_real(ScalarOp op, DType elem, const Rows &rows) {
  switch (op) {
  case ScalarOp::Add:
    return each_real(elem, rows, [](double a, double b) { return a + b; });
  case ScalarOp::Sub:
    return each_real(elem, rows, [](double a, double b) { return a - b; });
  case ScalarOp::Mul:
    return each_real(elem, rows, [](double a, double b) { return a * b; });
  case ScalarOp::Max:
    return each_real(elem, rows, [](double a, double b) { return b > a ? b : a; });
  case ScalarOp::Min:
    return each_real(elem, rows, [](double a, double b) { return b < a ? b : a; });
  default:
    return apply_other(op, elem, rows);
  }
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == -1)
    return signed_bits(0 - bits(a));
  return b == 0 ? 0 : a / b;
}
std::uint64_t quotient(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : a / b; }

std::int64_t remainder(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
std::uint64_t remainder(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : a % b; }

// What depends on the sign; false for other operations.
template <class I> bool apply_ordered(ScalarOp op, const Rows &rows) {
  switch (op) {
  case ScalarOp::Div:
    each_whole<I>(rows, [](I a, I b) { return quotient(a, b); });
    return true;
  case ScalarOp::Mod:
    each_whole<I>(rows, [](I a, I b) { return remainder(a, b); });
    return true;
  case ScalarOp::Max:
    each_whole<I>(rows, [](I a, I b) { return b > a ? b : a; });
    return true;
  case ScalarOp::Min:
    each_whole<I>(rows, [](I a, I b) { return b < a ? b : a; });
    return true;
  case ScalarOp::Lt:
    each_whole<I>(rows, [](I a, I b) { return a < b; });
    return true;
  case ScalarOp::Le:
    each_whole<I>(rows, [](I a, I b) { return a <= b; });
    return true;
  case ScalarOp::Gt:
    each_whole<I>(rows, [](I a, I b) { return a > b; });
    return true;
  case ScalarOp::Ge:
    each_whole<I>(rows, [](I a, I b) { return a >= b; });
    return true;
  default:
    return false;
  }
}

void apply_whole(ScalarOp op, DType elem, const Rows &rows) {
  using I = std::int64_t;
  const bool is_long = elem == DType::U64;
  if (is_long ? apply_ordered<std::uint64_t>(op, rows) : apply_ordered<I>(op, rows))
    return;
  switch (op) {
  case ScalarOp::Neg:
    return each_whole<I>(rows, [](I a, I) { return 0 - bits(a); });
  case ScalarOp::Abs:
    return each_whole<I>(rows, [&](I a, I) { return a < 0 && !is_long ? 0 - bits(a) : bits(a); });
  case ScalarOp::Not:
    return each_whole<I>(rows, [](I a, I) { return a == 0; });
  case ScalarOp::Add:
    return each_whole<I>(rows, [](I a, I b) { return bits(a) + bits(b); });
  case ScalarOp::Sub:
    return each_whole<I>(rows, [](I a, I b) { return bits(a) - bits(b); });
  case ScalarOp::Mul:
    return each_whole<I>(rows, [](I a, I b) { return bits(a) * bits(b); });
  case ScalarOp::Eq:
    return each_whole<I>(rows, [](I a, I b) { return a == b; });
  case ScalarOp::Ne:
    return each_whole<I>(rows, [](I a, I b) { return a != b; });
  case ScalarOp::And:
    return each_whole<I>(rows, [](I a, I b) { return a != 0 && b != 0; });
  case ScalarOp::Or:
    return each_whole<I>(rows, [](I a, I b) { return a != 0 || b != 0; });
  default:
    return apply_other(op, elem, rows);
  }
}

void wrap_all(DType elem, const Rows &rows) {
  for (std::size_t i = 0; i < rows.count; ++i)
    rows.to[i].whole = wrapped(rows.to[i].whole, elem);
}

} // namespace

Cell cell_of(double value, DType elem) {
  Cell cell{};
  if (is_float(elem))
    cell.real = narrowed(value, elem);
  else
    cell.whole = whole_of(narrowed(value, elem), elem);
  return cell;
}

void apply(ScalarOp op, DType elem, bool wraps_i32, const Rows &rows) {
  Rows both = rows;
  both.b = rows.b != nullptr ? rows.b : rows.a;
  if (is_float(elem))
    return apply_real(op, elem, both);
  if (is_bitwise(op))
    return apply_bits(op, elem, both);
  apply_whole(op, elem, both);
  if (!row(op).is_comparison && (keeps_width(elem) || (wraps_i32 && elem == DType::I32)))
    wrap_all(elem, both);
}

void fma(DType elem, const Rows &rows, const Cell *c) {
  for (std::size_t i = 0; i < rows.count; ++i) {
    if (elem == DType::F64) {
      rows.to[i].real = std::fma(rows.a[i].real, rows.b[i].real, c[i].real);
      continue;
    }
    const float value = std::fma(static_cast<float>(rows.a[i].real),
                                 static_cast<float>(rows.b[i].real), static_cast<float>(c[i].real));
    rows.to[i].real = rounded(static_cast<double>(value), elem);
  }
}

void dot(DType elem, const Neighbours &each, const Rows &rows, const Cell *c) {
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::size_t first = i / each.width * each.products * each.width + i % each.width;
    std::int64_t sum = c[i].whole;
    for (std::size_t k = 0; k < each.products; ++k)
      sum += rows.a[first + k * each.width].whole * rows.b[first + k * each.width].whole;
    rows.to[i].whole = wrapped(sum, elem);
  }
}

void convert(DType from, DType to, const Cell *value, Cell *result, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (is_float(to))
      result[i] = cell_of(is_float(from) ? value[i].real : number_of(value[i].whole, from), to);
    else if (is_float(from))
      result[i].whole = whole_of(cast_to_integer(value[i].real, from, to), to);
    else
      result[i].whole = wrapped(value[i].whole, to);
  }
}

} // namespace tilefuse::kernel::simulation
