// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_program.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::cost::plaidml {
namespace {

using program::Expr;
using program::Shape;
using program::TensorId;

std::string function_of(ScalarOp op) {
  static const std::map<ScalarOp, std::string> kNames = {
      {ScalarOp::Lt, "cmp_lt"},   {ScalarOp::Le, "cmp_le"}, {ScalarOp::Gt, "cmp_gt"},
      {ScalarOp::Ge, "cmp_ge"},   {ScalarOp::Eq, "cmp_eq"}, {ScalarOp::Ne, "cmp_ne"},
      {ScalarOp::And, "bit_and"}, {ScalarOp::Or, "bit_or"}, {ScalarOp::Not, "bit_not"},
      {ScalarOp::Select, "cond"}};
  const auto found = kNames.find(op);
  return found != kNames.end() ? found->second : std::string(row(op).name);
}

Shape broadcast(const Shape &a, const Shape &b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape &other = a.size() >= b.size() ? b : a;
  for (std::size_t d = 0; d < other.size(); ++d) {
    std::int64_t &size = shape[shape.size() - other.size() + d];
    size = size == 1 ? other[d] : size;
  }
  return shape;
}

class Expansion {
public:
  explicit Expansion(const program::Program &program) : program_(program) {
    for (const program::Tensor &tensor : program.tensors)
      list_.values.push_back({unique_name(tensor.name), tensor.type, tensor.shape});
    for (const TensorId id : program.outputs)
      list_.values[at(id)].is_output = true;
    computed_.resize(program.tensors.size(), false);
  }

  OpList run() {
    for (const program::Statement &statement : program_.statements) {
      statement_ = &statement;
      const int out = to_int(statement.out);
      if (const auto *map = std::get_if<program::Map>(&statement.body))
        add_map(*map, out);
      else if (const auto *view = std::get_if<program::View>(&statement.body))
        add_view(to_int(view->in), out);
      else
        add_contraction(std::get<program::Contraction>(statement.body), out);
    }
    return std::move(list_);
  }

private:
  // Tensors of a network carry the names of the Tile functions they come from: "Y", "Y_2", …
  std::string unique_name(const std::string &name) {
    const int count = ++named_[name];
    return count == 1 ? name : fmt::format("{}_{}", name, count);
  }

  Value &value(int id) { return list_.values[at(id)]; }

  void add(Op::Kind kind, std::string function, std::vector<Argument> arguments, int out) {
    list_.ops.push_back({kind, std::move(function), std::move(arguments), out, statement_});
    if (static_cast<std::size_t>(out) < computed_.size())
      computed_[at(out)] = true;
  }

  void add_contraction(const program::Contraction &body, int out) {
    std::vector<Argument> arguments;
    for (const program::Access &access : body.in)
      arguments.push_back({to_int(access.tensor), {}});
    add(Op::Kind::Contraction, "contraction", std::move(arguments), out);
  }

  void add_view(int in, int out) {
    if (computed_[at(in)] || value(out).is_output)
      return add(Op::Kind::Rename, "reshape", {{in, {}}}, out);
    value(out).name = value(in).name;
  }

  void add_map(const program::Map &map, int out) {
    operands_ = &map.operands;
    if (map.expr.kind == Expr::Kind::Call && !rounded_type(map.expr.op)) {
      call(map.expr, out);
      return;
    }
    const bool cast = map.expr.kind == Expr::Kind::Cast;
    const Argument in = argument(cast ? map.expr.args[0] : map.expr);
    const bool same =
        in.value >= 0 && program::elems(value(in.value).shape) == program::elems(value(out).shape);
    if (cast)
      add(Op::Kind::Function, fmt::format("as_{}", to_string(map.expr.type)), {in}, out);
    else
      add(same ? Op::Kind::Rename : Op::Kind::Function, "ident", {in}, out);
  }

  Argument argument(const Expr &expr) {
    switch (expr.kind) {
    case Expr::Kind::Operand:
      return {to_int((*operands_)[at(expr.operand)]), {}};
    case Expr::Kind::Const:
      return {-1, fmt::format("{:g}", expr.value)};
    case Expr::Kind::Cast:
      return argument(expr.args[0]);
    case Expr::Kind::Call: // PlaidML's casts round by themselves
      return rounded_type(expr.op) ? argument(expr.args[0]) : call(expr, -1);
    case Expr::Kind::Acc:
      break;
    }
    internal_error("a map reads an accumulator", __FILE__, __LINE__);
  }

  // `out` is the value that gets the result, -1 for one of its own.
  Argument call(const Expr &expr, int out) {
    std::vector<Argument> args;
    for (const Expr &arg : expr.args)
      args.push_back(argument(arg));
    if (expr.op == ScalarOp::Max || expr.op == ScalarOp::Min) {
      const bool max = expr.op == ScalarOp::Max;
      const Argument less = emit("cmp_lt", args, DType::Bool, -1);
      return emit("cond", {less, args[max ? 1 : 0], args[max ? 0 : 1]}, expr.type, out);
    }
    if (expr.op == ScalarOp::Abs) {
      const Argument less = emit("cmp_lt", {args[0], {-1, "0"}}, DType::Bool, -1);
      const Argument negative = emit("neg", args, expr.type, -1);
      return emit("cond", {less, negative, args[0]}, expr.type, out);
    }
    return emit(function_of(expr.op), std::move(args), expr.type, out);
  }

  Argument emit(std::string function, std::vector<Argument> args, DType type, int out) {
    if (out < 0) {
      Shape shape;
      for (const Argument &arg : args)
        if (arg.value >= 0)
          shape = broadcast(shape, value(arg.value).shape);
      out = static_cast<int>(list_.values.size());
      list_.values.push_back({fmt::format("X_T{}", ++temporaries_), type, std::move(shape)});
    }
    add(Op::Kind::Function, std::move(function), std::move(args), out);
    return {out, {}};
  }

  const program::Program &program_;
  const program::Statement *statement_ = nullptr;
  const std::vector<TensorId> *operands_ = nullptr;
  std::vector<bool> computed_; // by TensorId
  std::map<std::string, int> named_;
  int temporaries_ = 0;
  OpList list_;
};

// "-1 + i + 2*x": the constant, then indices by name.
std::string polynomial(const program::Affine &form, const std::vector<std::string> &indices) {
  std::map<std::string, Rational> terms;
  for (std::size_t i = 0; i < form.coeff.size(); ++i)
    if (form.coeff[i] != Rational(0))
      terms[indices[i]] = form.coeff[i];
  std::string text = form.constant == Rational(0) ? "" : to_string(form.constant);
  for (const auto &[name, factor] : terms) {
    const bool negative = factor.num() < 0;
    const Rational size = negative ? Rational(0) - factor : factor;
    if (text.empty())
      text = negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    text += size == Rational(1) ? name : to_string(size) + "*" + name;
  }
  return text.empty() ? "0" : text;
}

std::string polynomials(const std::vector<program::Affine> &forms,
                        const std::vector<std::string> &indices) {
  std::vector<std::string> texts;
  for (const program::Affine &form : forms)
    texts.push_back(polynomial(form, indices));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// What stands before operand k of a combination.
std::string_view separator(program::Comb comb, std::size_t k) {
  switch (comb) {
  case program::Comb::None:
    return ", ";
  case program::Comb::Mul:
  case program::Comb::Pick:
    return " * ";
  case program::Comb::Add:
    return " + ";
  case program::Comb::Equal:
    return " == ";
  case program::Comb::Term: // no pass before makes them
  case program::Comb::Select:
    return k == 1 ? " == " : " ? ";
  }
  internal_error("unknown combination", __FILE__, __LINE__);
}

} // namespace

OpList primitive_ops(const program::Program &program) { return Expansion(program).run(); }

std::string to_text(const OpList &list, const Op &op) {
  std::vector<std::string> args;
  for (const Argument &arg : op.arguments)
    args.push_back(arg.value < 0 ? arg.text : list.values[at(arg.value)].name);
  return fmt::format("{} = {}({})", list.values[at(op.output)].name, op.function,
                     fmt::join(args, ", "));
}

std::string contraction_text(const OpList &list, const program::Statement &statement) {
  constexpr std::string_view kAggregations = "+*><=";
  const auto &body = std::get<program::Contraction>(statement.body);
  const auto tensor = [&](program::TensorId id) -> const Value & { return list.values[at(id)]; };
  const Value &out = tensor(statement.out);
  std::string inputs;
  for (std::size_t k = 0; k < body.in.size(); ++k) {
    inputs += k == 0 ? "" : separator(body.comb, k);
    inputs += fmt::format("{}[{}]", tensor(body.in[k].tensor).name,
                          polynomials(body.in[k].subscripts, body.indices));
  }
  std::string text =
      fmt::format("{}[{} : {}] = {}({})", out.name, polynomials(body.out, body.indices),
                  fmt::join(out.shape, ", "), kAggregations[at(body.agg)], inputs);
  for (const program::Constraint &constraint : body.constraints)
    text += fmt::format(", {} < {}", polynomial(constraint.expr, body.indices), constraint.bound);
  return text;
}

} // namespace tilefuse::cost::plaidml
