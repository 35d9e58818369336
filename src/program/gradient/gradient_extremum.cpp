// SPDX-License-Identifier: Apache-2.0
// Gradients of maximum and minimum. With one operand A and result O:
//
//   rank    = N, …, 2, 1 over the elements of A that compete for a result, in row-major order
//   winner  = max over points of (A[in] == O[out] ? rank[in])     0: no winner
//   grad A  = sum over points of (winner[out] == rank[in] ? grad O[out])
//
// Where several points read the winner for one result, each gets its share. Several operands are
// first combined into a tensor of one element per point; its gradient then goes on to them as that
// of a sum.
#include "program/gradient/gradient_extremum.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "program/gradient/gradient_points.h"
#include "program/gradient/gradient_sum.h"

namespace tilefuse::program {
namespace {

// Whether the subscript is the same at all points of one element of the result: its indices stand
// alone in result subscripts.
bool is_fixed_by(const std::vector<Affine> &out, const Affine &at) {
  for (std::size_t i = 0; i < at.coeff.size(); ++i) {
    if (at.coeff[i].is_zero())
      continue;
    const bool alone = std::any_of(out.begin(), out.end(), [&](const Affine &subscript) {
      const auto indices = std::count_if(subscript.coeff.begin(), subscript.coeff.end(),
                                         [](const Rational &value) { return !value.is_zero(); });
      return indices == 1 && !subscript.coeff[i].is_zero();
    });
    if (!alone)
      return false;
  }
  return true;
}

class ExtremumGradient {
public:
  ExtremumGradient(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                   TensorId gradient)
      : builder_(builder), out_(out), body_(contraction), gradient_(gradient),
        all_(all_rows(builder.program(), out, contraction)) {}

  void run() {
    is_shared_ = !winners_are_single();
    if (body_.comb == Comb::None)
      return of_one_operand();
    of_several_operands();
  }

private:
  const Program &program() const { return builder_.program(); }
  const Tensor &result() const { return program()[out_]; }

  // Whether one point of a result reads each element that is ranked, or each pair. What a selection
  // compares has no rank.
  bool winners_are_single() const {
    std::vector<Row> rows = rows_of(program(), {out_, body_.out});
    for (std::size_t k = body_.comb == Comb::Select ? 2 : 0; k < body_.in.size(); ++k) {
      const std::vector<Row> more = rows_of(program(), body_.in[k]);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return tell_apart(rows, all_, body_.indices.size());
  }

  // Dimensions along which the operand's elements compete for a result. Along others all points of
  // a result read the same position.
  std::vector<std::size_t> competing(const Access &access) const {
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d)
      if (is_shared_ || !is_fixed_by(body_.out, access.subscripts[d]))
        dims.push_back(d);
    return dims;
  }

  std::int64_t count_of(const Access &access) const {
    Shape sizes;
    for (std::size_t d : competing(access))
      sizes.push_back(program()[access.tensor].shape[d]);
    return elems(sizes);
  }

  // The competing elements of an operand counted backwards, times `scale`, plus `least`.
  Access ranks(const Access &access, DType type, std::int64_t scale, std::int64_t least) {
    Access result;
    Shape sizes;
    for (std::size_t d : competing(access)) {
      sizes.push_back(program()[access.tensor].shape[d]);
      result.subscripts.push_back(access.subscripts[d]);
    }
    const Shape strides = row_major(sizes);
    std::vector<TensorId> parts;
    Expr sum = program::constant(static_cast<double>(least), type);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      std::vector<std::int64_t> values;
      for (std::int64_t i = sizes[d]; i-- > 0;)
        values.push_back(i * strides[d] * scale + (d == 0 ? least : 0));
      Shape shape(sizes.size() - d, 1);
      shape[0] = sizes[d];
      parts.push_back(builder_.constant(type, std::move(shape), values));
      const Expr part = operand(static_cast<int>(d), type);
      sum = d == 0 ? part : call(ScalarOp::Add, {sum, part});
    }
    result.tensor = builder_.map("rank", sizes, sum, std::move(parts));
    return result;
  }

  static DType rank_type(std::int64_t count) {
    return count <= std::numeric_limits<std::int32_t>::max() ? DType::I32 : DType::I64;
  }

  void of_one_operand() {
    const Access &operand = body_.in[0];
    const Access rank = ranks(operand, rank_type(count_of(operand)), 1, 1);
    Contraction won = pick_winners({in_type_of_result(operand.tensor), operand.subscripts}, rank);
    won.out = operand.subscripts;
    const Tensor tensor = program()[operand.tensor];
    builder_.contribute(operand.tensor,
                        emit(builder_.name_of(operand.tensor), tensor.type, tensor.shape, won));
  }

  void of_several_operands() {
    const std::optional<std::vector<Row>> rows = coordinates(all_, body_.indices.size());
    if (!rows)
      throw Error(ErrorCode::Unsupported,
                  "the gradient of a maximum or minimum of several operands needs subscripts or "
                  "constraints without fractions that bound every index");
    std::vector<Affine> at;
    Shape shape;
    for (const Row &row : *rows) {
      at.push_back(row.at);
      shape.push_back(row.size);
    }
    add_equations(body_, all_);
    Contraction combined = body_;
    combined.agg = Agg::Assign;
    combined.init = std::nullopt;
    combined.out = at;
    const TensorId values = emit("combined", result().type, shape, combined);
    const TensorId rank = rank_of_points(combined, shape);
    Contraction won = pick_winners({values, at}, {rank, at});
    won.agg = Agg::Assign;
    won.out = at;
    differentiate_sum(builder_, values, combined, emit("won", result().type, shape, won));
  }

  // One rank per point at which all operands are in range (and equal, where they are compared), by
  // the first operand's elements, then the second's; 0 at others.
  TensorId rank_of_points(const Contraction &combined, const Shape &shape) {
    Contraction body = combined;
    if (body.comb == Comb::Select) {
      const DType type = rank_type(count_of(body.in[2]));
      body.in[2] = ranks(body.in[2], type, 1, 1);
      return emit("rank", type, shape, body);
    }
    const std::int64_t minor = count_of(body.in[1]);
    const DType type = rank_type(elems({count_of(body.in[0]), minor}));
    const Access first = ranks(body.in[0], type, minor, 0);
    const Access second = ranks(body.in[1], type, 1, 1);
    body.in = {first, second};
    body.comb = Comb::Add;
    return emit("rank", type, shape, body);
  }

  // The contraction, its subscripts left open, of the gradient at points that win.
  Contraction pick_winners(const Access &value, const Access &rank) {
    const Access result_at{out_, body_.out};
    Contraction best = compare(value, result_at, rank);
    best.agg = Agg::Max;
    best.out = body_.out;
    const DType type = program()[rank.tensor].type;
    const Access winner{emit("winner", type, result().shape, best), body_.out};
    if (is_shared_)
      share(winner, rank);
    return compare(winner, rank, {gradient_, body_.out});
  }

  // Divides the gradient by the number of points that win.
  void share(const Access &winner, const Access &rank) {
    const DType type = accumulator_type(result().type);
    Contraction count = compare(winner, rank, {builder_.fill(type, {}, 1), {}});
    count.out = body_.out;
    const TensorId counts = emit("winners", type, result().shape, count);
    const Expr divided =
        call(ScalarOp::Div, {operand(0, result().type),
                             call(ScalarOp::Max, {operand(1, type), program::constant(1, type)})});
    gradient_ =
        builder_.map("share", result().shape, cast(divided, result().type), {gradient_, counts});
  }

  Contraction compare(const Access &a, const Access &b, const Access &then) const {
    Contraction body = same_points(body_);
    body.comb = Comb::Select;
    body.in = {a, b, then};
    return body;
  }

  TensorId in_type_of_result(TensorId id) {
    const Tensor tensor = program()[id];
    return builder_.map(tensor.name, tensor.shape, cast(operand(0, tensor.type), result().type),
                        {id});
  }

  TensorId emit(std::string name, DType type, Shape shape, const Contraction &body) {
    return builder_.emit({.name = std::move(name), .type = type, .shape = std::move(shape)}, body);
  }

  GradientBuilder &builder_;
  TensorId out_;
  Contraction body_;
  TensorId gradient_;
  std::vector<Row> all_;
  bool is_shared_ = false;
};

} // namespace

void differentiate_extremum(GradientBuilder &builder, TensorId out, const Contraction &contraction,
                            TensorId gradient) {
  ExtremumGradient(builder, out, contraction, gradient).run();
}

} // namespace tilefuse::program
