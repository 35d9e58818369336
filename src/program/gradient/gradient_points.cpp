// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient_points.h"

#include <algorithm>
#include <numeric>

namespace tilefuse::program {
namespace {

// Linearly independent vectors, each with a leading 1 where earlier ones have 0.
class Echelon {
public:
  // Whether the vector is independent of those so far.
  bool add(std::vector<Rational> vector) {
    for (const auto &[lead, basis] : basis_)
      if (const Rational factor = vector[lead]; !factor.is_zero())
        for (std::size_t i = 0; i < vector.size(); ++i)
          vector[i] = vector[i] - factor * basis[i];
    const auto found = std::find_if(vector.begin(), vector.end(),
                                    [](const Rational &value) { return !value.is_zero(); });
    if (found == vector.end())
      return false;
    const Rational first = *found;
    for (Rational &value : vector)
      value = value / first;
    basis_.emplace_back(static_cast<std::size_t>(found - vector.begin()), std::move(vector));
    return true;
  }
  std::size_t rank() const { return basis_.size(); }

private:
  std::vector<std::pair<std::size_t, std::vector<Rational>>> basis_;
};

bool is_integral(const Affine &affine) {
  return affine.constant.is_integer() &&
         std::all_of(affine.coeff.begin(), affine.coeff.end(),
                     [](const Rational &value) { return value.is_integer(); });
}

std::int64_t count_indices(const Affine &affine) {
  return std::count_if(affine.coeff.begin(), affine.coeff.end(),
                       [](const Rational &value) { return !value.is_zero(); });
}

// Whether one index and a constant are all of it, so that it is easy to write to.
bool is_simple(const Affine &affine) {
  return count_indices(affine) == 1 && is_integral(affine) &&
         std::find(affine.coeff.begin(), affine.coeff.end(), Rational(1)) != affine.coeff.end();
}

bool is_constant(const Affine &affine) { return count_indices(affine) == 0; }

bool is_always_true(const Row &row) {
  const Rational value = row.at.constant;
  return is_constant(row.at) && value.is_integer() && Rational(0) <= value &&
         value < Rational(row.size);
}

// Whether the same subscript is read, or the same expression without fractions constrained.
bool is_implied(const Row &row, std::span<const Row> read,
                std::span<const Constraint> constraints) {
  const auto same_row = [&](const Row &other) {
    return other.at == row.at && other.size <= row.size;
  };
  const auto same_constraint = [&](const Constraint &other) {
    return is_integral(row.at) && other.expr == row.at && other.bound <= row.size;
  };
  return std::any_of(read.begin(), read.end(), same_row) ||
         std::any_of(constraints.begin(), constraints.end(), same_constraint);
}

// Whether the row holds an index at one value.
bool is_equation(const Row &row) {
  return row.size == 1 && is_integral(row.at) && count_indices(row.at) == 1;
}

Echelon equations(std::span<const Row> rows) {
  Echelon echelon;
  for (const Row &row : rows)
    if (is_equation(row))
      echelon.add(row.at.coeff);
  return echelon;
}

std::vector<Row> rows_of(const Program &program, TensorId tensor,
                         const std::vector<Affine> &subscripts) {
  std::vector<Row> rows;
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    rows.push_back({subscripts[d], program[tensor].shape[d]});
  return rows;
}

} // namespace

std::vector<Row> rows_of(const Program &program, const Access &access) {
  return rows_of(program, access.tensor, access.subscripts);
}

std::vector<Row> all_rows(const Program &program, TensorId out, const Contraction &contraction) {
  std::vector<Row> rows = rows_of(program, out, contraction.out);
  for (const Access &access : contraction.in) {
    const std::vector<Row> more = rows_of(program, access);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  for (const Constraint &constraint : contraction.constraints)
    rows.push_back({constraint.expr, constraint.bound});
  return rows;
}

bool tell_apart(std::span<const Row> rows, std::span<const Row> all, std::size_t indices) {
  Echelon echelon = equations(all);
  for (const Row &row : rows)
    echelon.add(row.at.coeff);
  return echelon.rank() == indices;
}

std::optional<std::vector<Row>> coordinates(std::span<const Row> all, std::size_t indices) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_integral(all[i].at))
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto cost = [&](const Row &row) { return std::pair(!is_simple(row.at), row.size); };
    return cost(all[a]) < cost(all[b]);
  });
  Echelon echelon = equations(all);
  std::vector<std::size_t> chosen;
  for (std::size_t i : order)
    if (echelon.add(all[i].at.coeff))
      chosen.push_back(i);
  if (echelon.rank() != indices)
    return std::nullopt;
  std::sort(chosen.begin(), chosen.end());
  std::vector<Row> rows;
  for (std::size_t i : chosen)
    rows.push_back(all[i]);
  return rows;
}

Contraction same_points(const Contraction &from) {
  Contraction result;
  result.indices = from.indices;
  result.constraints = from.constraints;
  return result;
}

void add_equations(Contraction &contraction, std::span<const Row> all) {
  for (const Row &row : all)
    if (is_equation(row) && !is_always_true(row) && !is_implied(row, {}, contraction.constraints))
      contraction.constraints.push_back({row.at, row.size});
}

void restrict_to(GradientBuilder &builder, Contraction &into, std::span<const Access> accesses) {
  const Program &program = builder.program();
  const std::vector<Row> read = rows_of(program, into.in.at(0));
  Access fractions;
  Shape sizes;
  for (const Access &access : accesses)
    for (const Row &row : rows_of(program, access)) {
      if (is_always_true(row) || is_implied(row, read, into.constraints))
        continue;
      if (is_integral(row.at)) {
        into.constraints.push_back({row.at, row.size});
      } else {
        fractions.subscripts.push_back(row.at);
        sizes.push_back(row.size);
      }
    }
  if (sizes.empty())
    return;
  fractions.tensor = builder.fill(program[into.in.at(0).tensor].type, std::move(sizes), 1);
  into.in.push_back(std::move(fractions));
  into.comb = Comb::Mul;
}

} // namespace tilefuse::program
