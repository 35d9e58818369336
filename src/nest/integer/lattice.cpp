// SPDX-License-Identifier: Apache-2.0
#include "nest/integer/lattice.h"

#include <numeric>
#include <utility>

#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

using Column = std::vector<std::int64_t>;

std::int64_t floor_mod(std::int64_t a, std::int64_t m) {
  const std::int64_t rest = a % m;
  return rest < 0 ? rest + m : rest;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return (a - floor_mod(a, b)) / b; }

std::int64_t multiply_mod(std::int64_t a, std::int64_t b, std::int64_t m) {
  return floor_mod(static_cast<std::int64_t>(static_cast<__int128>(a) * b % m), m);
}

// The inverse of a modulo m, which are coprime.
std::int64_t inverse_mod(std::int64_t a, std::int64_t m) {
  std::int64_t old_r = floor_mod(a, m), r = m, old_s = 1, s = 0;
  while (r != 0) {
    const std::int64_t q = old_r / r;
    old_r = std::exchange(r, old_r - q * r);
    old_s = std::exchange(s, old_s - q * s);
  }
  return floor_mod(old_s, m);
}

// to += factor * from
void add_multiple(Column &to, std::int64_t factor, const Column &from) {
  if (factor == 0)
    return;
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = checked_add(to[i], checked_mul(factor, from[i]));
}

// The form over the multipliers of a lattice, as (integer form) / den, reduced modulo den.
struct Congruence {
  std::vector<std::int64_t> coeff;
  std::int64_t constant = 0;
  std::int64_t den = 1;
};

std::int64_t common_denominator(const program::Affine &form) {
  std::int64_t den = form.constant.den();
  for (const Rational &value : form.coeff)
    den = checked_mul(den / std::gcd(den, value.den()), value.den());
  return den;
}

Congruence on_lattice(const program::Affine &form, const Lattice &lattice) {
  Congruence result;
  result.den = common_denominator(form);
  const auto scaled = [&](const Rational &value) {
    return multiply_mod(floor_mod(value.num(), result.den), result.den / value.den(), result.den);
  };
  const auto dot = [&](const Column &point) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < point.size(); ++i)
      sum =
          (sum + multiply_mod(scaled(form.coeff[i]), floor_mod(point[i], result.den), result.den)) %
          result.den;
    return sum;
  };
  for (const Column &column : lattice.basis)
    result.coeff.push_back(dot(column));
  result.constant = (scaled(form.constant) + dot(lattice.offset)) % result.den;
  return result;
}

// Steps of Euclid's algorithm on the columns until at most one has a nonzero entry; its position,
// or nothing. `entries` are changed as the columns are.
std::optional<std::size_t> eliminate(std::vector<Column> &columns, Column &entries,
                                     std::size_t first) {
  while (true) {
    std::optional<std::size_t> pivot;
    for (std::size_t j = first; j < entries.size(); ++j)
      if (entries[j] != 0 && (!pivot || std::abs(entries[j]) < std::abs(entries[*pivot])))
        pivot = j;
    if (!pivot)
      return pivot;
    bool done = true;
    for (std::size_t j = first; j < entries.size(); ++j) {
      if (j == *pivot || entries[j] == 0)
        continue;
      const std::int64_t factor = -(entries[j] / entries[*pivot]);
      add_multiple(columns[j], factor, columns[*pivot]);
      entries[j] = checked_add(entries[j], checked_mul(factor, entries[*pivot]));
      done = done && entries[j] == 0;
    }
    if (done)
      return pivot;
  }
}

// Keeps the points at which the form is an integer; false when there are none.
bool restrict_to(Lattice &lattice, const program::Affine &form) {
  Congruence at = on_lattice(form, lattice);
  const std::optional<std::size_t> pivot = eliminate(lattice.basis, at.coeff, 0);
  if (!pivot)
    return at.constant == 0;
  const std::int64_t factor = std::gcd(at.coeff[*pivot], at.den);
  if (at.constant % factor != 0)
    return false;
  const std::int64_t step = at.den / factor;
  const std::int64_t inverse = inverse_mod(at.coeff[*pivot] / factor, step);
  const std::int64_t start = multiply_mod(floor_mod(-at.constant / factor, step), inverse, step);
  add_multiple(lattice.offset, start, lattice.basis[*pivot]);
  for (std::int64_t &value : lattice.basis[*pivot])
    value = checked_mul(value, step);
  return true;
}

void reduce_offset(Lattice &lattice) {
  for (std::size_t j = 0; j < lattice.basis.size(); ++j)
    add_multiple(lattice.offset, -floor_div(lattice.offset[j], lattice.basis[j][j]),
                 lattice.basis[j]);
}

} // namespace

void to_hermite(std::vector<Column> &columns) {
  for (std::size_t row = 0; row < columns.size(); ++row) {
    Column entries;
    for (const Column &column : columns)
      entries.push_back(column[row]);
    const std::optional<std::size_t> pivot = eliminate(columns, entries, row);
    TILEFUSE_CHECK(pivot.has_value(), "a singular basis");
    std::swap(columns[row], columns[*pivot]);
    if (columns[row][row] < 0)
      for (std::int64_t &value : columns[row])
        value = -value;
    for (std::size_t j = 0; j < row; ++j)
      add_multiple(columns[j], -floor_div(columns[j][row], columns[row][row]), columns[row]);
  }
}

std::optional<Lattice> integral_points(std::span<const program::Affine> forms, std::size_t n) {
  Lattice lattice{Column(n, 0), std::vector<Column>(n, Column(n, 0))};
  for (std::size_t j = 0; j < n; ++j)
    lattice.basis[j][j] = 1;
  for (const program::Affine &form : forms) {
    if (common_denominator(form) == 1)
      continue; // an integer at all of them
    if (!restrict_to(lattice, form))
      return std::nullopt;
    to_hermite(lattice.basis);
    reduce_offset(lattice);
  }
  return lattice;
}

std::vector<Column> kernel(const Lattice &lattice, std::span<const program::Affine> forms) {
  std::vector<Column> columns = lattice.basis;
  for (const program::Affine &form : forms) {
    const std::int64_t scale = common_denominator(form);
    Column entries;
    for (const Column &column : columns) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < column.size(); ++i)
        sum = checked_add(sum, checked_mul(checked_mul(form.coeff[i].num(), column[i]),
                                           scale / form.coeff[i].den()));
      entries.push_back(sum);
    }
    if (const std::optional<std::size_t> pivot = eliminate(columns, entries, 0))
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(*pivot));
  }
  return columns;
}

std::int64_t period(const Lattice &lattice, std::size_t j) {
  const std::size_t n = lattice.basis.size();
  std::vector<Rational> multiplier(n, Rational(0));
  multiplier[j] = Rational(1);
  std::int64_t scale = 1;
  for (std::size_t row = j + 1; row < n; ++row) {
    Rational sum(0);
    for (std::size_t k = j; k < row; ++k)
      sum = sum + multiplier[k] * Rational(lattice.basis[k][row]);
    multiplier[row] = Rational(0) - sum / Rational(lattice.basis[row][row]);
    const std::int64_t den = multiplier[row].den();
    scale = checked_mul(scale / std::gcd(scale, den), den);
  }
  return checked_mul(scale, lattice.basis[j][j]);
}

} // namespace tilefuse::nest
