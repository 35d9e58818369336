// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_expr.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_context.h"
#include "emit/c/c_helpers.h"
#include "emit/c/c_names.h"
#include "kernel/build.h"
#include "kernel/rounding.h"
#include "kernel/walk.h"
#include "target/coarse.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::ExprRef;
using kernel::Type;

[[noreturn]] void unsupported(const CContext &cx, ScalarOp op, const Type &type) {
  throw Error(ErrorCode::Unsupported, fmt::format("'{}' of {} cannot be written in {}",
                                                  row(op).name, type_tag(type), cx.words().name));
}

// Narrow integers, which C promotes, come back as what they were.
std::string narrowed(const CContext &cx, const Type &type, std::string text) {
  const bool promotes = type.lanes == 1 && is_narrow(type.elem);
  return promotes ? fmt::format("({})({})", value_type(cx, type), bare(std::move(text))) : text;
}

// A part of a value, of which so much is allowed.
std::string part(CContext &cx, ExprRef expr, Coarse coarse) {
  const Coarse outer = std::exchange(cx.coarse, coarse);
  std::string text = expression(cx, expr);
  cx.coarse = outer;
  return text;
}

std::string infix(const std::string &a, std::string_view op, const std::string &b) {
  return fmt::format("({} {} {})", a, op, b);
}

// What vectors of a type, not of 4 bytes, compare to: signed integers of their size.
DType mask_of(DType type) {
  return is_byte(type) ? DType::I8 : (is_narrow(type) ? DType::I16 : DType::I64);
}

// A comparison of two values of `type` as the value of {Bool, lanes}.
std::string comparison(const CContext &cx, const Type &type, std::string_view op,
                       const std::string &a, const std::string &b) {
  if (type.lanes == 1)
    return infix(a, op, b);
  if (type.elem == DType::Bool)
    return infix("(" + a + " & 1)", op, "(" + b + " & 1)");
  const std::string mask = infix(a, op, b);
  if (size_bytes(type.elem) == 4 || (is_float(type.elem) && type.elem != DType::F64))
    return mask;
  return cx.language.convert({mask_of(type.elem), type.lanes}, {DType::I32, type.lanes}, mask);
}

std::string truth(const CContext &cx, const Type &type, const std::string &value) {
  return type.elem == DType::Bool ? value : comparison(cx, type, "!=", value, literal(cx, type, 0));
}

std::string select_text(const CContext &cx, const Type &type, const Type &condition_type,
                        std::string condition, const std::string &a, const std::string &b) {
  if (condition_type.lanes > 1 && (size_bytes(type.elem) == 8 || is_narrow(type.elem))) {
    const Type mask{mask_of(type.elem), type.lanes};
    condition = cx.language.convert({DType::I32, type.lanes}, mask, condition);
  }
  return cx.language.select(type.lanes, condition, a, b);
}

std::optional<std::string_view> math_function(ScalarOp op) {
  switch (op) {
  case ScalarOp::Exp:
    return "exp";
  case ScalarOp::Log:
    return "log";
  case ScalarOp::Sqrt:
    return "sqrt";
  case ScalarOp::Tanh:
    return "tanh";
  case ScalarOp::Floor:
    return "floor";
  case ScalarOp::Ceil:
    return "ceil";
  case ScalarOp::Round:
    return "rint";
  case ScalarOp::Erf:
    return "erf";
  case ScalarOp::Sin:
    return "sin";
  case ScalarOp::Cos:
    return "cos";
  case ScalarOp::Abs:
    return "fabs";
  case ScalarOp::Pow:
    return "pow";
  case ScalarOp::Mod:
    return "fmod";
  default:
    return std::nullopt;
  }
}

std::string float_op(CContext &cx, ScalarOp op, const Type &type,
                     const std::vector<std::string> &v) {
  if (rounded_type(op))
    return fmt::format("{}({})", rounding_helper(cx, op, type), bare(v[0]));
  if (const auto name = math_function(op))
    return v.size() == 1 ? fmt::format("{}({})", *name, bare(v[0]))
                         : fmt::format("{}({}, {})", *name, bare(v[0]), bare(v[1]));
  unsupported(cx, op, type);
}

// A shift amount modulo the width of the type; C leaves larger ones undefined.
std::string within_width(CContext &cx, const Type &type, const std::string &amount) {
  return infix(amount, "&", literal(cx, type, static_cast<double>(size_bytes(type.elem) * 8 - 1)));
}

std::string integer_op(CContext &cx, ScalarOp op, const Type &type,
                       const std::vector<std::string> &v) {
  switch (op) {
  case ScalarOp::BitNot:
    return narrowed(cx, type, "(~" + v[0] + ")");
  case ScalarOp::BitAnd:
    return infix(v[0], "&", v[1]);
  case ScalarOp::BitOr:
    return infix(v[0], "|", v[1]);
  case ScalarOp::BitXor:
    return infix(v[0], "^", v[1]);
  case ScalarOp::BitLeft:
    return narrowed(cx, type, infix(v[0], "<<", within_width(cx, type, v[1])));
  case ScalarOp::BitRight:
    return infix(v[0], ">>", within_width(cx, type, v[1]));
  case ScalarOp::Abs:
    if (!traits(type.elem).is_signed)
      return v[0];
    return fmt::format("{}({}, {})", select_helper(cx, ScalarOp::Max, type), v[0],
                       narrowed(cx, type, "(-" + v[0] + ")"));
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
    return v[0];
  default:
    unsupported(cx, op, type);
  }
}

// Sums and products of truth values are true where the number would not be zero.
std::string bool_op(const CContext &cx, ScalarOp op, const Type &type,
                    const std::vector<std::string> &v) {
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Max:
    return infix(v[0], "|", v[1]);
  case ScalarOp::Mul:
  case ScalarOp::Min:
    return infix(v[0], "&", v[1]);
  case ScalarOp::Sub:
    return infix(v[0], "^", v[1]);
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
    return v[0];
  default:
    unsupported(cx, op, type);
  }
}

// Division of integers: by a constant other than 0 and -1 as it is, else through a function that
// cannot trap.
std::string integer_division(CContext &cx, const kernel::Scalar &node, const Type &type,
                             const std::vector<std::string> &v) {
  std::int64_t divisor = 0;
  const bool plain = kernel::is_constant(node.args[1], &divisor) && divisor != 0 && divisor != -1;
  if (plain)
    return narrowed(cx, type, infix(v[0], node.op == ScalarOp::Div ? "/" : "%", v[1]));
  return fmt::format("{}({}, {})", division_helper(cx, node.op, type), bare(v[0]), bare(v[1]));
}

// An operand of + or - without parentheses where C's precedence and order give the same tree.
std::string summand(ExprRef operand, std::string text, bool is_left) {
  const auto *node = std::get_if<kernel::Scalar>(&operand->node);
  if (node == nullptr || is_narrow(operand->type.elem))
    return text;
  const bool is_sum = node->op == ScalarOp::Add || node->op == ScalarOp::Sub;
  return node->op == ScalarOp::Mul || (is_left && is_sum) ? bare(std::move(text)) : text;
}

std::string arithmetic(CContext &cx, const kernel::Scalar &node, const Type &type,
                       const std::vector<std::string> &v) {
  const bool is_real = is_float(type.elem);
  if (type.elem == DType::Bool)
    return bool_op(cx, node.op, type, v);
  if (type.elem == DType::F32 && is_coarse(node.op, cx.coarse))
    if (const std::string name = cx.language.coarse_function(cx, node.op, type); !name.empty())
      return v.size() == 1 ? fmt::format("{}({})", name, bare(v[0]))
                           : fmt::format("{}({}, {})", name, bare(v[0]), bare(v[1]));
  switch (node.op) {
  case ScalarOp::Coarse:
    return v[0];
  case ScalarOp::Neg:
    return narrowed(cx, type, "(-" + v[0] + ")");
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return narrowed(cx, type,
                    infix(summand(node.args[0], v[0], true), row(node.op).infix,
                          summand(node.args[1], v[1], false)));
  case ScalarOp::Mul:
    return narrowed(cx, type, infix(v[0], "*", v[1]));
  case ScalarOp::Div:
    return is_real ? infix(v[0], "/", v[1]) : integer_division(cx, node, type, v);
  case ScalarOp::Mod:
    return is_real ? float_op(cx, node.op, type, v) : integer_division(cx, node, type, v);
  case ScalarOp::Max:
  case ScalarOp::Min:
    return fmt::format("{}({}, {})", select_helper(cx, node.op, type), bare(v[0]), bare(v[1]));
  default:
    return is_real ? float_op(cx, node.op, type, v) : integer_op(cx, node.op, type, v);
  }
}

std::string scalar_text(CContext &cx, const Type &type, const kernel::Scalar &node) {
  std::vector<std::string> v;
  for (const ExprRef arg : node.args)
    v.push_back(part(cx, arg, allowed_below(node.op, cx.coarse)));
  const Type &operand = node.args.front()->type;
  switch (node.op) {
  case ScalarOp::Not:
    return type.lanes == 1 ? "(!" + v[0] + ")" : "(~" + truth(cx, operand, v[0]) + ")";
  case ScalarOp::And:
    return infix(truth(cx, operand, v[0]), type.lanes == 1 ? "&&" : "&", truth(cx, operand, v[1]));
  case ScalarOp::Or:
    return infix(truth(cx, operand, v[0]), type.lanes == 1 ? "||" : "|", truth(cx, operand, v[1]));
  case ScalarOp::Select:
    return select_text(cx, type, operand, v[0], v[1], v[2]);
  default:
    break;
  }
  if (row(node.op).is_comparison)
    return comparison(cx, operand, row(node.op).infix, v[0], v[1]);
  return arithmetic(cx, node, type, v);
}

std::string fma_text(CContext &cx, const Type &type, const kernel::Fma &node) {
  const std::string a = expression(cx, node.a);
  const std::string b = expression(cx, node.b);
  const std::string c = expression(cx, node.c);
  if (type.elem == DType::Bool)
    return infix(infix(a, "&", b), "|", c);
  if (!is_float(type.elem))
    return narrowed(cx, type, infix(infix(a, "*", b), "+", c));
  return fmt::format("fma({}, {}, {})", bare(a), bare(b), bare(c));
}

// A whole number for every value: rounded by two additions, or the sum with another.
bool is_whole(ExprRef expr) {
  constexpr double kLargest = 0x1p22; // that additions round
  if (const std::optional<double> constant = kernel::constant_of(expr))
    return *constant == std::floor(*constant);
  if (const kernel::Scalar *sum = kernel::call_of(expr, ScalarOp::Add))
    return is_whole(sum->args[0]) && is_whole(sum->args[1]);
  const ExprRef rounded = kernel::rounded_by_sums(expr);
  const std::optional<kernel::Held> held =
      rounded != nullptr ? kernel::held(rounded) : std::nullopt;
  return held && std::fabs(held->low) <= kLargest && std::fabs(held->high) <= kLargest;
}

// A value that is rounded and then held within bounds: what is rounded, and the bounds that a
// conversion which saturates leaves of them.
struct Rounded {
  ExprRef value{};
  double low = 0, high = 0;
};

std::optional<Rounded> rounded(DType to, ExprRef expr) {
  const auto *node = std::get_if<kernel::Scalar>(&expr->node);
  const bool rounds = node != nullptr && node->op == ScalarOp::Round;
  if (rounds || is_whole(expr))
    return Rounded{.value = rounds ? node->args[0] : expr,
                   .low = cast_to_integer(-HUGE_VAL, DType::F32, to),
                   .high = cast_to_integer(HUGE_VAL, DType::F32, to)};
  if (node == nullptr || (node->op != ScalarOp::Min && node->op != ScalarOp::Max))
    return std::nullopt;
  const auto *bound = std::get_if<kernel::Const>(&node->args[1]->node);
  std::optional<Rounded> inside = rounded(to, node->args[0]);
  if (!inside || bound == nullptr || bound->value != std::floor(bound->value))
    return std::nullopt;
  for (double *limit : {&inside->low, &inside->high})
    *limit =
        node->op == ScalarOp::Min ? std::min(*limit, bound->value) : std::max(*limit, bound->value);
  return inside;
}

// Rounding keeps whole bounds, so they may come before it.
std::optional<std::string> round_text(CContext &cx, const Type &to, ExprRef value) {
  if (!cx.language.has_round_convert(cx) || value->type.elem != DType::F32 || !is_byte(to.elem) ||
      to.lanes % 2 != 0)
    return std::nullopt;
  const std::optional<Rounded> all = rounded(to.elem, value);
  if (!all)
    return std::nullopt;
  const auto limit = [&](double bound, double saturated) {
    return bound == cast_to_integer(saturated, DType::F32, to.elem) ? std::nullopt
                                                                    : std::optional(bound);
  };
  return cx.language.round_convert(to, bare(expression(cx, all->value)), limit(all->low, -HUGE_VAL),
                                   limit(all->high, HUGE_VAL));
}

std::string cast_text(CContext &cx, const Type &to, const kernel::Cast &node) {
  const Type &from = node.value->type;
  if (const std::optional<std::string> text = round_text(cx, to, node.value))
    return *text;
  const std::string value = part(cx, node.value, allowed_below_cast(from.elem, to.elem, cx.coarse));
  if (from == to)
    return value;
  if (to.elem == DType::Bool)
    return truth(cx, from, value);
  if (from.elem == DType::Bool && from.lanes > 1)
    return cx.language.convert({DType::I32, from.lanes}, to, "(" + value + " & 1)");
  return cx.language.convert(from, to, value);
}

std::string broadcast_text(CContext &cx, const Type &type, const kernel::Broadcast &node) {
  std::string value = expression(cx, node.value);
  if (node.value->type.lanes > 1)
    return cx.language.repeat(node.value->type, type, value);
  if (type.lanes == 1)
    return value;
  if (type.elem == DType::Bool)
    value = "-" + value;
  if (type.elem == DType::I32 && cx.wide)
    value = "(int)" + value;
  return cx.language.compose(value_type(cx, type), bare(value));
}

struct Visitor {
  CContext &cx;
  const Type &type;
  std::string operator()(const kernel::Const &node) { return literal(cx, type, node.value); }
  std::string operator()(const kernel::VarRef &node) { return variable_name(node.var); }
  std::string operator()(const kernel::BlockIndex &) { return "block"; }
  std::string operator()(const kernel::LaneIndex &) {
    return cx.kernel.block_size == 1 ? integer_literal(cx, 0) : "lane";
  }
  std::string operator()(const kernel::Scalar &node) { return scalar_text(cx, type, node); }
  std::string operator()(const kernel::Fma &node) { return fma_text(cx, type, node); }
  std::string operator()(const kernel::Dot &node) { return cx.language.dot(cx, node, type.lanes); }
  std::string operator()(const kernel::Cast &node) { return cast_text(cx, type, node); }
  std::string operator()(const kernel::Broadcast &node) { return broadcast_text(cx, type, node); }
  std::string operator()(const kernel::Load &node) { return load_text(cx, type, node); }
};

} // namespace

std::string expression(CContext &cx, ExprRef expr) {
  return std::visit(Visitor{cx, expr->type}, expr->node);
}

} // namespace tilefuse::emit
