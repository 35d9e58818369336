// SPDX-License-Identifier: Apache-2.0
// Gradients of maps and views.
#include "program/gradient/gradient_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "program/gradient/derivative.h"
#include "program/gradient/gradient_builder.h"

namespace tilefuse::program {
namespace {

using Kind = Expr::Kind;

// The subscripts under which the sum of a tensor of shape `from` over broadcast dimensions has
// shape `to`.
std::vector<Affine> summed_subscripts(const Shape &from, const Shape &to) {
  std::vector<Affine> subscripts;
  for (std::size_t d = 0; d < to.size(); ++d) {
    const std::size_t index = d + from.size() - to.size();
    subscripts.push_back({std::vector<Rational>(from.size()), Rational(0)});
    if (to[d] != 1)
      subscripts.back().coeff[index] = Rational(1);
  }
  return subscripts;
}

std::vector<Affine> own_subscripts(const Shape &shape) {
  std::vector<Affine> subscripts(shape.size(), {std::vector<Rational>(shape.size()), Rational(0)});
  for (std::size_t d = 0; d < shape.size(); ++d)
    subscripts[d].coeff[d] = Rational(1);
  return subscripts;
}

const Expr &without_casts(const Expr &expr) {
  return expr.kind == Kind::Cast && is_float(expr.args[0].type) ? without_casts(expr.args[0])
                                                                : expr;
}

// The gradients of one map, operand by operand.
class MapGradient {
public:
  MapGradient(GradientBuilder &builder, TensorId out, const Map &map, TensorId gradient)
      : builder_(builder), shape_(builder.program()[out].shape), operands_(map.operands) {
    operands_.push_back(gradient);
    operands_.push_back(out);
  }

  void add(TensorId by, const Expr &expr) {
    const Tensor tensor = builder_.program()[by];
    const std::string name = builder_.name_of(by);
    if (tensor.shape == shape_)
      builder_.contribute(by, builder_.map(name, shape_, cast(expr, tensor.type), operands_));
    else
      builder_.contribute(by,
                          builder_.emit({.name = name, .type = tensor.type, .shape = tensor.shape},
                                        summed(expr, tensor.shape)));
  }

private:
  // The tensor that `expr` is, if it is one of the result's shape.
  std::optional<TensorId> as_tensor(const Expr &expr) const {
    const Expr &leaf = without_casts(expr);
    if (leaf.kind != Kind::Operand)
      return std::nullopt;
    const TensorId id = operands_[at(leaf.operand)];
    return builder_.program()[id].shape == shape_ ? std::optional(id) : std::nullopt;
  }

  // The sum of `expr` to shape `to`; a product of two tensors is not made first.
  Contraction summed(const Expr &expr, const Shape &to) {
    Contraction body;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      body.indices.push_back(fmt::format("i{}", d));
    body.out = summed_subscripts(shape_, to);
    if (expr.kind == Kind::Call && expr.op == ScalarOp::Mul) {
      const std::optional<TensorId> a = as_tensor(expr.args[0]);
      const std::optional<TensorId> b = as_tensor(expr.args[1]);
      if (a && b) {
        body.comb = Comb::Mul;
        body.in = {{*a, own_subscripts(shape_)}, {*b, own_subscripts(shape_)}};
        return body;
      }
    }
    const std::optional<TensorId> whole = as_tensor(expr);
    body.in = {
        {whole ? *whole : builder_.map("terms", shape_, expr, operands_), own_subscripts(shape_)}};
    return body;
  }

  GradientBuilder &builder_;
  const Shape shape_;
  std::vector<TensorId> operands_; // those of the map, the gradient, the result
};

// A tensor that several operands name is read through the first.
Expr name_once(Expr expr, const std::vector<TensorId> &operands) {
  if (expr.kind == Kind::Operand) {
    const TensorId id = operands[at(expr.operand)];
    expr.operand =
        static_cast<int>(std::find(operands.begin(), operands.end(), id) - operands.begin());
  }
  for (Expr &arg : expr.args)
    arg = name_once(std::move(arg), operands);
  return expr;
}

} // namespace

void differentiate(GradientBuilder &builder, TensorId out, const Map &map, TensorId gradient) {
  const DType type = builder.program()[out].type;
  const int count = static_cast<int>(map.operands.size());
  std::vector<bool> wanted;
  for (TensorId id : map.operands)
    wanted.push_back(builder.is_wanted(id));
  MapGradient result(builder, out, map, gradient);
  for (const auto &[k, expr] : derivatives(name_once(map.expr, map.operands), operand(count, type),
                                           operand(count + 1, type), wanted))
    result.add(map.operands[at(k)], expr);
}

void differentiate(GradientBuilder &builder, TensorId, const View &view, TensorId gradient) {
  const Tensor tensor = builder.program()[view.in];
  builder.contribute(
      view.in,
      builder.emit({.name = builder.name_of(view.in), .type = tensor.type, .shape = tensor.shape},
                   View{gradient}));
}

} // namespace tilefuse::program
