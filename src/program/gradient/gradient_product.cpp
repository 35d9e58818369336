// SPDX-License-Identifier: Apache-2.0
// Gradients of products. With one operand A: the gradient by an element is the product of the
// others, which is
//
//   P / A   where no factor is 0, P being the product of those that are not,
//   P       by the only factor that is 0, and
//   0       everywhere where two or more are.
//
// Several operands are first combined into a tensor of one element per point, 1 where there is no
// point; its gradient then goes on to them as that of a sum.
#include "program/gradient/gradient_product.h"

#include "base/error.h"
#include "program/gradient/gradient_points.h"
#include "program/gradient/gradient_sum.h"

namespace tilefuse::program {
namespace {

class ProductGradient {
public:
  ProductGradient(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                  TensorId gradient)
      : builder_(builder), out_(out), body_(contraction), gradient_(gradient),
        type_(accumulator_type(builder.program()[out].type)) {}

  void run() {
    if (body_.comb == Comb::None)
      return builder_.contribute(body_.in[0].tensor, by_factors(body_.in[0]));
    const std::vector<Row> all = all_rows(builder_.program(), out_, body_);
    const std::optional<std::vector<Row>> rows = coordinates(all, body_.indices.size());
    if (!rows)
      throw Error(ErrorCode::Unsupported,
                  "the gradient of a product of several operands needs subscripts or constraints "
                  "without fractions that bound every index");
    Access factors;
    Shape shape;
    for (const Row &row : *rows) {
      factors.subscripts.push_back(row.at);
      shape.push_back(row.size);
    }
    add_equations(body_, all);
    Contraction combined = body_;
    combined.agg = Agg::Assign;
    combined.out = factors.subscripts;
    combined.init = builder_.fill(type_, shape, 1);
    factors.tensor = builder_.emit({.name = "factors", .type = type_, .shape = shape}, combined);
    differentiate_sum(builder_, factors.tensor, combined, by_factors(factors));
  }

private:
  const Tensor &tensor(TensorId id) const { return builder_.program()[id]; }

  // The sum over all points of `in` read with `from`, written with `to`.
  TensorId reduce(Agg agg, const std::string &name, const Access &in, const Access &to) {
    Contraction body = same_points(body_);
    body.agg = agg;
    body.in = {in};
    body.out = to.subscripts;
    return builder_.emit(
        {.name = name, .type = tensor(in.tensor).type, .shape = tensor(to.tensor).shape}, body);
  }

  Expr is_zero(const Expr &a) const {
    return call(ScalarOp::Eq, {a, program::constant(0, a.type)});
  }

  // The gradient by the factors, of their type.
  TensorId by_factors(const Access &factors) {
    const Tensor given = tensor(factors.tensor);
    const Access result{out_, body_.out};
    const Expr a = operand(0, given.type);
    const auto per_factor = [&](const char *name, const Expr &expr) {
      return Access{builder_.map(name, given.shape, expr, {factors.tensor}), factors.subscripts};
    };
    const Access zero = per_factor("is zero", cast(is_zero(a), DType::I32));
    const Access rest =
        per_factor("not zero", call(ScalarOp::Select,
                                    {is_zero(a), program::constant(1, type_), cast(a, type_)}));
    const TensorId zeros = reduce(Agg::Sum, "zeros", zero, result);
    const TensorId product = reduce(Agg::Product, "product", rest, result);
    const TensorId no_zero = reduce(Agg::Sum, "by all", scaled(zeros, product, 0), factors);
    const TensorId one_zero = reduce(Agg::Sum, "by the zero", scaled(zeros, product, 1), factors);
    const Expr others = call(ScalarOp::Div, {operand(1, type_), cast(a, type_)});
    const Expr expr = call(ScalarOp::Select, {is_zero(a), operand(2, type_), others});
    return builder_.map(builder_.name_of(factors.tensor), given.shape, cast(expr, given.type),
                        {factors.tensor, no_zero, one_zero});
  }

  // The gradient times the product where `count` factors are 0, elsewhere 0.
  Access scaled(TensorId zeros, TensorId product, std::int64_t count) {
    const Expr is_count =
        call(ScalarOp::Eq,
             {operand(0, DType::I32), program::constant(static_cast<double>(count), DType::I32)});
    const Expr gradient = cast(operand(2, tensor(out_).type), type_);
    const Expr expr =
        call(ScalarOp::Select, {is_count, call(ScalarOp::Mul, {operand(1, type_), gradient}),
                                program::constant(0, type_)});
    return {builder_.map("scaled", tensor(out_).shape, expr, {zeros, product, gradient_}),
            body_.out};
  }

  GradientBuilder &builder_;
  TensorId out_;
  Contraction body_;
  TensorId gradient_;
  DType type_; // in which products are made
};

} // namespace

void differentiate_product(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                           TensorId gradient) {
  ProductGradient(builder, out, contraction, gradient).run();
}

} // namespace tilefuse::program
