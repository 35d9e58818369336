// SPDX-License-Identifier: Apache-2.0
#include "tile/frame.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "tile/builtins.h"
#include "tile/diagnostics.h"

namespace tilefuse::tile {
namespace {

using Kind = Expression::Kind;
using program::Affine;

bool has_index(const Affine &affine) {
  return std::any_of(affine.coeff.begin(), affine.coeff.end(),
                     [](const Rational &c) { return !c.is_zero(); });
}

// Numerators and denominators multiplied crosswise stay within 62 bits, so that
// no rational operation overflows.
bool fits(const Rational &a, const Rational &b) {
  constexpr std::int64_t kMax = std::int64_t{1} << 61;
  const auto small = [](std::int64_t x, std::int64_t y) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(x, y, &product) && product < kMax && product > -kMax;
  };
  return small(a.num(), b.num()) && small(a.num(), b.den()) && small(a.den(), b.num()) &&
         small(a.den(), b.den());
}

} // namespace

void collect_indices(const Expression &e, std::vector<std::string> &indices) {
  const bool is_index = e.kind == Kind::Name && is_lower_name(e.name);
  if (is_index && std::find(indices.begin(), indices.end(), e.name) == indices.end())
    indices.push_back(e.name);
  for (const Expression &arg : e.args)
    collect_indices(arg, indices);
}

Frame::Frame(const Function &function, const std::string &origin, const Frame *caller, Position at)
    : function_(function), origin_(origin), caller_(caller), called_at_(at),
      depth_(caller ? caller->depth_ + 1 : 1) {}

std::string Frame::origin(Position at) const {
  return origin_.empty() ? fmt::format("{}:{}", function_.file, at.line) : origin_;
}

program::TensorId Frame::tensor(const std::string &name) const {
  const auto found = tensors_.find(name);
  TILEFUSE_CHECK(found != tensors_.end(), "a Tile name that passed the check is unbound");
  return found->second;
}

const Attribute *Frame::find_scalar(const std::string &name) const {
  const auto found = scalars_.find(name);
  return found == scalars_.end() ? nullptr : &found->second;
}

const program::Expr *Frame::find_value(const std::string &name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Frame::fail(ErrorCode code, Position at, const std::string &message) const {
  const auto note = [](const Frame &frame, Position in) {
    return fmt::format("in {} at {}:{}:{}", frame.function_.name, frame.function_.file, in.line,
                       in.column);
  };
  std::vector<std::string> notes = {note(*this, at)};
  for (const Frame *frame = this; frame->caller_; frame = frame->caller_)
    notes.push_back(note(*frame->caller_, frame->called_at_));
  const std::string named = fmt::format("{}: {}", function_.name, message);
  if (!origin_.empty())
    throw Error(code, named, origin_, std::move(notes));
  if (!caller_)
    notes.clear(); // the place says it
  const std::string text = function_.source.text ? *function_.source.text : "";
  const std::string where = fmt::format("{}:{}:{}", function_.file, at.line, at.column);
  throw Error(code, fmt::format("{}\n{}", named, snippet(text, at)), where, std::move(notes));
}

bool Frame::is_number(const Expression &e) const {
  if (e.kind == Kind::Name)
    return find_scalar(e.name) != nullptr;
  if (e.kind == Kind::Call && !parse_scalar_op(e.name))
    return false;
  return std::all_of(e.args.begin(), e.args.end(),
                     [this](const Expression &arg) { return is_number(arg); });
}

bool Frame::is_integral(const Expression &e) const {
  if (e.kind == Kind::Integer)
    return true;
  if (e.kind == Kind::Name) {
    const Attribute *value = find_scalar(e.name);
    return value && std::holds_alternative<std::int64_t>(*value);
  }
  const bool arithmetic = e.kind == Kind::Operation && !row(e.op).is_comparison &&
                          !is_bitwise(e.op) && e.op != ScalarOp::Select;
  const bool whole = arithmetic || (e.kind == Kind::Call && is_integer_function(e.name));
  return whole && std::all_of(e.args.begin(), e.args.end(),
                              [this](const Expression &arg) { return is_integral(arg); });
}

Attribute Frame::scalar(const Expression &e) const {
  if (is_integral(e))
    return integer(e);
  return number(e);
}

std::int64_t Frame::integer(const Expression &e) const {
  if (e.kind == Kind::Integer)
    return e.integer;
  if (e.kind == Kind::Operation)
    return integer_operation(e);
  if (e.kind == Kind::Call)
    return integer_function(e);
  const Attribute *value = find_scalar(e.name);
  TILEFUSE_CHECK(value != nullptr, "a Tile number that passed the check is unbound");
  if (const auto *real = std::get_if<double>(value))
    fail(ErrorCode::Type, e.at, fmt::format("{} is {}, an integer is needed here", e.name, *real));
  return std::get<std::int64_t>(*value);
}

std::int64_t Frame::integer_operation(const Expression &e) const {
  const std::int64_t a = e.op == ScalarOp::Neg ? 0 : integer(e.args[0]);
  const std::int64_t b = integer(e.args.back());
  std::int64_t result = 0;
  bool overflow = false;
  if (e.op == ScalarOp::Add)
    overflow = __builtin_add_overflow(a, b, &result);
  else if (e.op == ScalarOp::Mul)
    overflow = __builtin_mul_overflow(a, b, &result);
  else if (e.op != ScalarOp::Div)
    overflow = __builtin_sub_overflow(a, b, &result);
  else if (b == 0)
    fail(ErrorCode::Shape, e.at, fmt::format("{} is divided by zero", a));
  else if (b == -1)
    overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
  else
    result = a / b;
  if (overflow)
    fail(ErrorCode::Limit, e.at,
         e.op == ScalarOp::Neg
             ? fmt::format("-({}) does not fit in 64 bits", b)
             : fmt::format("{} {} {} does not fit in 64 bits", a, row(e.op).infix, b));
  return result;
}

std::int64_t Frame::integer_function(const Expression &e) const {
  const std::int64_t a = integer(e.args.front());
  const std::int64_t b = integer(e.args.back());
  switch (*parse_scalar_op(e.name)) {
  case ScalarOp::Min:
    return std::min(a, b);
  case ScalarOp::Max:
    return std::max(a, b);
  case ScalarOp::Mod:
    if (b == 0)
      fail(ErrorCode::Shape, e.at, fmt::format("{} is taken modulo zero", a));
    return b == -1 ? 0 : a % b;
  default:
    if (a == std::numeric_limits<std::int64_t>::min())
      fail(ErrorCode::Limit, e.at, fmt::format("abs({}) does not fit in 64 bits", a));
    return a < 0 ? -a : a;
  }
}

double Frame::number(const Expression &e) const {
  if (e.kind == Kind::Integer)
    return static_cast<double>(e.integer);
  if (e.kind == Kind::Number)
    return e.number;
  if (e.kind == Kind::Name) {
    const Attribute *value = find_scalar(e.name);
    TILEFUSE_CHECK(value != nullptr, "a Tile number that passed the check is unbound");
    return std::visit([](auto v) { return static_cast<double>(v); }, *value);
  }
  const ScalarOp op = e.kind == Kind::Call ? *parse_scalar_op(e.name) : e.op;
  std::vector<double> args;
  for (const Expression &arg : e.args)
    args.push_back(number(arg));
  return evaluate(op, args);
}

Rational Frame::add(Position at, const Rational &a, const Rational &b) const {
  if (!fits(a, b))
    fail(ErrorCode::Limit, at,
         fmt::format("{} + {} does not fit in 62 bits", to_string(a), to_string(b)));
  return a + b;
}

Rational Frame::multiply(Position at, const Rational &a, const Rational &b) const {
  if (!fits(a, b))
    fail(ErrorCode::Limit, at,
         fmt::format("{} * {} does not fit in 62 bits", to_string(a), to_string(b)));
  return a * b;
}

Affine Frame::affine(const Expression &e, const std::vector<std::string> &indices) const {
  Affine result{std::vector<Rational>(indices.size()), Rational(0)};
  if (e.kind == Kind::Name && is_lower_name(e.name)) {
    const auto index = std::find(indices.begin(), indices.end(), e.name);
    result.coeff[at(index - indices.begin())] = 1;
    return result;
  }
  if (e.kind != Kind::Operation) {
    result.constant = integer(e);
    return multiply(e.at, result.constant, 1), result;
  }
  if (e.op == ScalarOp::Neg) {
    result.constant = -1;
    return product(e, std::move(result), affine(e.args[0], indices));
  }
  Affine a = affine(e.args[0], indices);
  Affine b = affine(e.args[1], indices);
  if (e.op == ScalarOp::Mul || e.op == ScalarOp::Div)
    return product(e, std::move(a), std::move(b));
  const Rational sign = e.op == ScalarOp::Sub ? -1 : 1;
  for (std::size_t i = 0; i < indices.size(); ++i)
    result.coeff[i] = add(e.at, a.coeff[i], sign * b.coeff[i]);
  result.constant = add(e.at, a.constant, sign * b.constant);
  return result;
}

// a * b or a / b, one of them (the divisor) without indices.
Affine Frame::product(const Expression &e, Affine a, Affine b) const {
  if (e.op == ScalarOp::Div) {
    TILEFUSE_CHECK(!has_index(b), "a Tile subscript that passed the check is divided by an index");
    if (b.constant.is_zero())
      fail(ErrorCode::Shape, e.at, "a subscript is divided by zero");
    const bool whole = !has_index(a) && a.constant.is_integer() && b.constant.is_integer();
    if (whole) {
      a.constant = a.constant.num() / b.constant.num();
      return a;
    }
    b.constant = Rational(1) / b.constant;
  }
  TILEFUSE_CHECK(!has_index(a) || !has_index(b),
                 "a Tile subscript that passed the check is not affine");
  if (has_index(b))
    std::swap(a, b);
  for (Rational &coeff : a.coeff)
    coeff = multiply(e.at, coeff, b.constant);
  a.constant = multiply(e.at, a.constant, b.constant);
  return a;
}

} // namespace tilefuse::tile
