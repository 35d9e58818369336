// SPDX-License-Identifier: Apache-2.0
// Gradients of maximum and minimum. With one operand A and result O:
//
//   rank    = N, …, 2, 1 over the elements of A that compete for a result, in row-major order; over
//             the taps of a window where each of them reads one element
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

// Whether an index has one value at all points of one element of the result: it stands alone in a
// result subscript.
bool is_fixed_by(const std::vector<Affine> &out, std::size_t index) {
  return std::any_of(out.begin(), out.end(), [&](const Affine &subscript) {
    const auto indices = std::count_if(subscript.coeff.begin(), subscript.coeff.end(),
                                       [](const Rational &value) { return !value.is_zero(); });
    return indices == 1 && !subscript.coeff[index].is_zero();
  });
}

// The indices of a subscript that differ between the points of one element of the result.
std::vector<std::size_t> free_indices(const std::vector<Affine> &out, const Affine &at) {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < at.coeff.size(); ++i)
    if (!at.coeff[i].is_zero() && !is_fixed_by(out, i))
      free.push_back(i);
  return free;
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

  // What tells apart the elements of an operand that compete for a result, in their row-major
  // order: its subscripts but those that are the same at all points of a result.
  std::vector<Row> places(const Access &access) const {
    std::vector<Row> rows;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d)
      if (is_shared_ || !free_indices(body_.out, access.subscripts[d]).empty())
        rows.push_back({access.subscripts[d], program()[access.tensor].shape[d]});
    return rows;
  }

  // The same in fewer numbers: a subscript that one index moves upwards is as good as that index.
  std::vector<Row> taps(const Access &access) const {
    std::vector<Row> rows = places(access);
    for (Row &row : rows)
      if (const std::vector<std::size_t> free = free_indices(body_.out, row.at);
          !is_shared_ && free.size() == 1 && Rational(0) < row.at.coeff[free[0]])
        for (const Row &bound : all_)
          if (is_index(bound.at, free[0]) && bound.size < row.size)
            row = bound;
    return rows;
  }

  static std::int64_t count_of(const std::vector<Row> &places) {
    Shape sizes;
    for (const Row &place : places)
      sizes.push_back(place.size);
    return elems(sizes);
  }

  // Places counted backwards, times `scale`, plus `least`.
  Access ranks(const std::vector<Row> &places, DType type, std::int64_t scale, std::int64_t least) {
    Access result;
    Shape sizes;
    for (const Row &place : places) {
      sizes.push_back(place.size);
      result.subscripts.push_back(place.at);
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

  // The narrowest that holds so many ranks.
  static DType narrow_rank_type(std::int64_t count) {
    if (count <= std::numeric_limits<std::uint8_t>::max())
      return DType::U8;
    return count <= std::numeric_limits<std::int16_t>::max() ? DType::I16 : rank_type(count);
  }
  static DType rank_type(std::int64_t count) {
    return count <= std::numeric_limits<std::int32_t>::max() ? DType::I32 : DType::I64;
  }

  void of_one_operand() {
    const Access &operand = body_.in[0];
    const std::vector<Row> places = taps(operand);
    const Access rank = ranks(places, narrow_rank_type(count_of(places)), 1, 1);
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
      const std::vector<Row> of = places(body.in[2]);
      const DType type = rank_type(count_of(of));
      body.in[2] = ranks(of, type, 1, 1);
      return emit("rank", type, shape, body);
    }
    const std::vector<Row> major = places(body.in[0]);
    const std::vector<Row> minor = places(body.in[1]);
    const DType type = rank_type(elems({count_of(major), count_of(minor)}));
    const Access first = ranks(major, type, count_of(minor), 0);
    const Access second = ranks(minor, type, 1, 1);
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
