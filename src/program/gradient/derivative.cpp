// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/derivative.h"

#include <numbers>
#include <optional>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::program {
namespace {

using Kind = Expr::Kind;
using Gradients = std::map<int, Expr>;

bool is_constant(const Expr &expr, double value) {
  return expr.kind == Kind::Const && expr.value == value;
}

Expr like(double value, const Expr &expr) { return constant(value, expr.type); }

Expr neg(Expr a) { return call(ScalarOp::Neg, {std::move(a)}); }

Expr mul(Expr a, Expr b) {
  if (is_constant(a, 1))
    return cast(std::move(b), a.type);
  if (is_constant(b, 1))
    return a;
  return call(ScalarOp::Mul, {std::move(a), std::move(b)});
}

Expr div(Expr a, Expr b) { return call(ScalarOp::Div, {std::move(a), std::move(b)}); }

Expr select(const Expr &condition, Expr then, Expr otherwise) {
  if (then == otherwise)
    return then;
  return call(ScalarOp::Select, {condition, std::move(then), std::move(otherwise)});
}

Expr is_equal(const Expr &a, double b) { return call(ScalarOp::Eq, {a, like(b, a)}); }

// In the type in which gradients of its type are computed.
Expr widen(const Expr &expr) { return cast(expr, accumulator_type(expr.type)); }

bool is_exp(const Expr &expr) { return expr.kind == Kind::Call && expr.op == ScalarOp::Exp; }

// v of 1 + exp(v).
const Expr *logistic_argument(const Expr &expr) {
  if (expr.kind != Kind::Call || expr.op != ScalarOp::Add)
    return nullptr;
  for (std::size_t k = 0; k < 2; ++k)
    if (is_constant(expr.args[k], 1) && is_exp(expr.args[1 - k]))
      return &expr.args[1 - k].args[0];
  return nullptr;
}

// What is known of a node's result: the expression itself, and perhaps an operand that holds it.
struct Value {
  const Expr &expr;
  const Expr *stored = nullptr;

  const Expr &any() const { return stored ? *stored : expr; }
};

class Differentiator {
public:
  explicit Differentiator(const std::vector<bool> &wanted) : wanted_(wanted) {}

  Gradients run(const Expr &expr, const Expr &adjoint, const Expr *stored) {
    if (!is_float(expr.type) || !depends(expr))
      return {};
    switch (expr.kind) {
    case Kind::Operand:
      return {{expr.operand, adjoint}};
    case Kind::Cast:
      return run(expr.args[0], cast(adjoint, accumulator_type(expr.args[0].type)), nullptr);
    case Kind::Call:
      return of_call({expr, stored}, adjoint);
    case Kind::Acc:
    case Kind::Const:
      return {};
    }
    return {};
  }

private:
  bool depends(const Expr &expr) const {
    if (expr.kind == Kind::Operand)
      return wanted_[at(expr.operand)];
    for (const Expr &arg : expr.args)
      if (depends(arg))
        return true;
    return false;
  }

  Gradients merge(Gradients a, Gradients b) {
    for (auto &[operand, gradient] : b) {
      const auto [found, is_new] = a.try_emplace(operand, gradient);
      if (!is_new)
        found->second = call(ScalarOp::Add, {std::move(found->second), std::move(gradient)});
    }
    return a;
  }

  // Where the condition holds those of the first branch, elsewhere those of the second.
  Gradients choose(const Expr &condition, Gradients then, Gradients otherwise) {
    Gradients chosen;
    for (auto &[operand, gradient] : then) {
      const auto other = otherwise.find(operand);
      const Expr zero = like(0, gradient);
      chosen.emplace(operand,
                     select(condition, gradient, other == otherwise.end() ? zero : other->second));
    }
    for (auto &[operand, gradient] : otherwise)
      if (!then.contains(operand))
        chosen.emplace(operand, select(condition, like(0, gradient), gradient));
    return chosen;
  }

  // The rule of one argument: its gradient is `adjoint`.
  Gradients pass(const Expr &arg, const Expr &adjoint) { return run(arg, adjoint, nullptr); }

  // One case per operation, so that a further one does not compile without a rule.
  Gradients of_call(const Value &node, const Expr &adjoint) {
    const std::vector<Expr> &args = node.expr.args;
    switch (node.expr.op) {
    case ScalarOp::Neg:
    case ScalarOp::Abs:
    case ScalarOp::Exp:
    case ScalarOp::Log:
    case ScalarOp::Sqrt:
    case ScalarOp::Tanh:
    case ScalarOp::Erf:
    case ScalarOp::Sin:
    case ScalarOp::Cos:
      return pass(args[0], of_unary(node, adjoint));
    case ScalarOp::RoundF16:
    case ScalarOp::RoundBF16:
    case ScalarOp::Coarse:
      return pass(args[0], adjoint);
    case ScalarOp::Add:
      return merge(pass(args[0], adjoint), pass(args[1], adjoint));
    case ScalarOp::Sub:
      return merge(pass(args[0], adjoint), pass(args[1], neg(adjoint)));
    case ScalarOp::Mul:
      return merge(pass(args[0], mul(adjoint, args[1])), pass(args[1], mul(adjoint, args[0])));
    case ScalarOp::Div:
      return merge(pass(args[0], div(adjoint, args[1])), of_divisor(node, adjoint));
    case ScalarOp::Max:
      return of_extremum(node, adjoint, ScalarOp::Gt);
    case ScalarOp::Min:
      return of_extremum(node, adjoint, ScalarOp::Lt);
    case ScalarOp::Pow:
      return merge(of_base(node, adjoint), of_exponent(node, adjoint));
    case ScalarOp::Mod:
      return merge(pass(args[0], adjoint), of_modulus(node, adjoint));
    case ScalarOp::Select:
      return choose(args[0], run(args[1], adjoint, node.stored),
                    run(args[2], adjoint, node.stored));
    case ScalarOp::Floor:
    case ScalarOp::Ceil:
    case ScalarOp::Round:
    case ScalarOp::Not:
    case ScalarOp::Lt:
    case ScalarOp::Le:
    case ScalarOp::Gt:
    case ScalarOp::Ge:
    case ScalarOp::Eq:
    case ScalarOp::Ne:
    case ScalarOp::And:
    case ScalarOp::Or:
    case ScalarOp::BitNot:
    case ScalarOp::BitAnd:
    case ScalarOp::BitOr:
    case ScalarOp::BitXor:
    case ScalarOp::BitLeft:
    case ScalarOp::BitRight:
      return {};
    }
    return {};
  }

  // The gradient by the argument of an operation of one.
  static Expr of_unary(const Value &node, const Expr &adjoint) {
    const Expr &arg = node.expr.args[0];
    const Expr x = widen(arg);
    const Expr y = widen(node.any());
    switch (node.expr.op) {
    case ScalarOp::Abs:
      return select(
          call(ScalarOp::Gt, {arg, like(0, arg)}), adjoint,
          select(call(ScalarOp::Lt, {arg, like(0, arg)}), neg(adjoint), like(0, adjoint)));
    case ScalarOp::Exp:
      return mul(adjoint, y);
    case ScalarOp::Log:
      return div(adjoint, x);
    case ScalarOp::Sqrt:
      return div(mul(adjoint, like(0.5, x)), y);
    case ScalarOp::Tanh:
      return mul(adjoint, call(ScalarOp::Sub, {like(1, y), mul(y, y)}));
    case ScalarOp::Erf:
      return mul(mul(adjoint, like(2 * std::numbers::inv_sqrtpi, x)),
                 call(ScalarOp::Exp, {neg(mul(x, x))}));
    case ScalarOp::Sin:
      return mul(adjoint, call(ScalarOp::Cos, {x}));
    case ScalarOp::Cos:
      return neg(mul(adjoint, call(ScalarOp::Sin, {x})));
    default:
      TILEFUSE_CHECK(node.expr.op == ScalarOp::Neg, "an operation of one argument expected");
      return neg(adjoint);
    }
  }

  Gradients of_modulus(const Value &node, const Expr &adjoint) {
    const Expr a = widen(node.expr.args[0]);
    const Expr b = widen(node.expr.args[1]);
    const Expr quotient = div(call(ScalarOp::Sub, {a, widen(node.any())}), b);
    return pass(node.expr.args[1], neg(mul(adjoint, call(ScalarOp::Round, {quotient}))));
  }

  Gradients of_divisor(const Value &node, const Expr &adjoint) {
    const Expr &a = node.expr.args[0];
    const Expr &b = node.expr.args[1];
    const Expr q = widen(node.any());
    if (!depends(b))
      return {};
    const Expr *v = logistic_argument(b);
    if (v == nullptr)
      return pass(b, neg(mul(adjoint, div(q, widen(b)))));
    const Expr logistic = is_constant(a, 1) ? q : div(like(1, q), widen(b));
    return pass(*v, neg(mul(mul(adjoint, q), call(ScalarOp::Sub, {like(1, q), logistic}))));
  }

  // `better`: how a value compares to one that it replaces.
  Gradients of_extremum(const Value &node, const Expr &adjoint, ScalarOp better) {
    const Expr &a = node.expr.args[0];
    const Expr &b = node.expr.args[1];
    for (const auto &[variable, bound] : {std::pair(&a, &b), std::pair(&b, &a)})
      if (bound->kind == Kind::Const) {
        const Expr &shown = node.stored ? *node.stored : *variable;
        return choose(call(better, {shown, *bound}), run(*variable, adjoint, node.stored), {});
      }
    return choose(call(better, {b, a}), run(b, adjoint, node.stored), run(a, adjoint, node.stored));
  }

  // b * pow(a, b - 1); 0 where b is 0, also at a = 0.
  Gradients of_base(const Value &node, const Expr &adjoint) {
    const Expr &a = node.expr.args[0];
    const Expr &b = node.expr.args[1];
    if (!depends(a) || is_constant(b, 0))
      return {};
    if (b.kind == Kind::Const) {
      const Expr scaled = mul(adjoint, b);
      if (b.value == 1 || b.value == 2)
        return pass(a, b.value == 1 ? scaled : mul(scaled, a));
      return pass(a, mul(scaled, call(ScalarOp::Pow, {widen(a), like(b.value - 1, adjoint)})));
    }
    const Expr less = call(ScalarOp::Sub, {widen(b), like(1, adjoint)});
    const Expr rule = mul(mul(adjoint, b), call(ScalarOp::Pow, {widen(a), less}));
    return choose(is_equal(b, 0), {}, pass(a, rule));
  }

  // pow(a, b) * log(a); 0 where a is 0 and b at least 0.
  Gradients of_exponent(const Value &node, const Expr &adjoint) {
    const Expr &a = node.expr.args[0];
    const Expr &b = node.expr.args[1];
    if (!depends(b))
      return {};
    const Expr rule = mul(mul(adjoint, node.any()), call(ScalarOp::Log, {widen(a)}));
    const Expr at_zero = call(ScalarOp::And, {is_equal(a, 0), call(ScalarOp::Ge, {b, like(0, b)})});
    return choose(at_zero, {}, pass(b, rule));
  }

  const std::vector<bool> &wanted_;
};

} // namespace

std::map<int, Expr> derivatives(const Expr &expr, const Expr &adjoint, const Expr &value,
                                const std::vector<bool> &wanted) {
  return Differentiator(wanted).run(expr, cast(adjoint, accumulator_type(expr.type)), &value);
}

} // namespace tilefuse::program
