// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient_broadcast.h"

#include <algorithm>
#include <vector>

#include "base/index.h"

namespace tilefuse::program {
namespace {

// The index that a subscript is.
std::optional<std::size_t> plain_index(const Affine &subscript) {
  if (subscript.constant != Rational(0))
    return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    if (subscript.coeff[i] == Rational(0))
      continue;
    if (found || subscript.coeff[i] != Rational(1))
      return std::nullopt;
    found = i;
  }
  return found;
}

bool is_zero(const Affine &subscript) {
  return subscript.constant == Rational(0) &&
         std::all_of(subscript.coeff.begin(), subscript.coeff.end(),
                     [](const Rational &coeff) { return coeff == Rational(0); });
}

class Broadcasting {
public:
  Broadcasting(const Program &program, const Tensor &result, const Contraction &body)
      : program_(program), result_(result), body_(body),
        dimension_of_(body.indices.size(), std::nullopt) {}

  // Whether each dimension of the result has an index of its own.
  bool reads_result() {
    for (std::size_t d = 0; d < body_.out.size(); ++d) {
      const std::optional<std::size_t> index = plain_index(body_.out[d]);
      if (!index || dimension_of_[*index])
        return false;
      dimension_of_[*index] = d;
    }
    return true;
  }

  // The shape under which an operand broadcasts to the result.
  std::optional<Shape> shape_of(const Access &access) {
    const Shape &from = program_[access.tensor].shape;
    Shape to(result_.shape.size(), 1);
    std::size_t next = 0; // dimension of the result
    for (std::size_t j = 0; j < from.size(); ++j) {
      const std::optional<std::size_t> index = plain_index(access.subscripts[j]);
      if (from[j] == 1 && (is_zero(access.subscripts[j]) || (index && !dimension_of_[*index]))) {
        if (index)
          single_.push_back(*index);
        continue;
      }
      if (!index || !dimension_of_[*index] || *dimension_of_[*index] < next)
        return std::nullopt;
      const std::size_t d = *dimension_of_[*index];
      if (from[j] != result_.shape[d])
        return std::nullopt;
      to[d] = from[j];
      next = d + 1;
    }
    return to;
  }

  // Whether indices that are not in the result have the value 0 alone, by an operand's dimension.
  bool are_others_single() const {
    const auto is_single = [&](std::size_t index) {
      return std::find(single_.begin(), single_.end(), index) != single_.end();
    };
    for (std::size_t i = 0; i < dimension_of_.size(); ++i)
      if (!dimension_of_[i] && !is_single(i))
        return false;
    return std::all_of(body_.constraints.begin(), body_.constraints.end(),
                       [&](const Constraint &constraint) {
                         const std::optional<std::size_t> index = plain_index(constraint.expr);
                         return index && is_single(*index) && constraint.bound >= 1;
                       });
  }

private:
  const Program &program_;
  const Tensor &result_;
  const Contraction &body_;
  std::vector<std::optional<std::size_t>> dimension_of_; // by index: of the result
  std::vector<std::size_t> single_;                      // indices that a dimension of 1 bounds
};

} // namespace

std::optional<TensorId> as_broadcast(GradientBuilder &builder, const Tensor &result,
                                     const Contraction &body) {
  if (body.agg != Agg::Assign || body.init || (body.comb != Comb::None && body.comb != Comb::Mul))
    return std::nullopt;
  Broadcasting broadcasting(builder.program(), result, body);
  if (!broadcasting.reads_result())
    return std::nullopt;
  std::vector<Shape> shapes;
  for (const Access &access : body.in) {
    const std::optional<Shape> shape = broadcasting.shape_of(access);
    if (!shape)
      return std::nullopt;
    shapes.push_back(*shape);
  }
  if (!broadcasting.are_others_single())
    return std::nullopt;
  std::vector<TensorId> operands;
  std::vector<Expr> leaves;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Tensor from = builder.program()[body.in[k].tensor];
    TensorId id = body.in[k].tensor;
    if (from.shape != shapes[k])
      id = builder.emit({.name = from.name, .type = from.type, .shape = shapes[k]}, View{id});
    leaves.push_back(operand(static_cast<int>(k), from.type));
    operands.push_back(id);
  }
  Expr value = leaves.size() == 2 ? call(ScalarOp::Mul, {leaves[0], leaves[1]}) : leaves[0];
  return builder.map(result.name, result.shape, cast(std::move(value), result.type), operands);
}

} // namespace tilefuse::program
