// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/regroup.h"

#include <algorithm>

#include "base/error.h"

namespace tilefuse::program {
namespace {

// What is left of a shape's dimensions, from the last one on.
struct Rest {
  const Shape &shape;
  std::vector<std::vector<std::size_t>> &dims;
  std::size_t next; // dimensions before it are untouched
  std::int64_t left = 1;

  bool open() {
    while (left == 1 && next > 0)
      left = shape[--next];
    return left != 1;
  }
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

Rational product(const Shape &factors, std::size_t from) {
  Rational result(1);
  for (std::size_t k = from; k < factors.size(); ++k)
    result = result * Rational(factors[k]);
  return result;
}

// The form modulo and over `size`, where the first part is known to be below it.
std::optional<std::pair<Affine, Affine>> divide(const Affine &form, std::int64_t size,
                                                const Extents &extents) {
  Affine rest{std::vector<Rational>(form.coeff.size()), {}};
  Affine whole = rest;
  for (std::size_t i = 0; i < form.coeff.size(); ++i) {
    const std::int64_t c = form.coeff[i].num();
    (c % size == 0 ? whole : rest).coeff[i] = Rational(c % size == 0 ? c / size : c);
  }
  const std::int64_t c = form.constant.num();
  whole.constant = Rational(floor_div(c, size));
  rest.constant = Rational(c - size * floor_div(c, size));
  if (!is_within(rest, size, extents))
    return std::nullopt;
  return std::pair{std::move(rest), std::move(whole)};
}

} // namespace

std::optional<Regrouping> regroup(const Shape &a, const Shape &b) {
  const auto is_empty = [](std::int64_t size) { return size < 1; };
  if (std::any_of(a.begin(), a.end(), is_empty) || std::any_of(b.begin(), b.end(), is_empty))
    return std::nullopt;
  Regrouping result{.factors = {},
                    .a = std::vector<std::vector<std::size_t>>(a.size()),
                    .b = std::vector<std::vector<std::size_t>>(b.size())};
  Rest first{a, result.a, a.size()}, second{b, result.b, b.size()};
  while (true) {
    const bool more = first.open();
    if (more != second.open())
      return std::nullopt;
    if (!more)
      break;
    const std::int64_t factor = std::min(first.left, second.left);
    for (Rest *rest : {&first, &second}) {
      if (rest->left % factor != 0)
        return std::nullopt;
      rest->left /= factor;
      rest->dims[rest->next].push_back(result.factors.size());
    }
    result.factors.push_back(factor);
  }
  // Outermost first.
  std::reverse(result.factors.begin(), result.factors.end());
  for (auto *dims : {&result.a, &result.b})
    for (std::vector<std::size_t> &factors : *dims) {
      std::reverse(factors.begin(), factors.end());
      for (std::size_t &k : factors)
        k = result.factors.size() - 1 - k;
    }
  return result;
}

bool is_integral(const Affine &form) {
  return form.constant.is_integer() &&
         std::all_of(form.coeff.begin(), form.coeff.end(),
                     [](const Rational &c) { return c.is_integer(); });
}

bool is_within(const Affine &form, std::int64_t size, const Extents &extents) {
  Rational low = form.constant, high = form.constant;
  for (std::size_t i = 0; i < form.coeff.size(); ++i) {
    if (form.coeff[i].is_zero())
      continue;
    if (extents[i] == 0)
      return false;
    const Rational end = form.coeff[i] * Rational(extents[i] - 1);
    (end < Rational(0) ? low : high) = (end < Rational(0) ? low : high) + end;
  }
  return low >= Rational(0) && high < Rational(size);
}

std::optional<std::vector<Affine>> digits(const Affine &form, const Shape &factors,
                                          const Extents &extents) {
  if (!is_integral(form))
    return std::nullopt;
  std::vector<Affine> result(factors.size());
  Affine rest = form;
  for (std::size_t k = factors.size(); k-- > 1;) {
    auto parts = divide(rest, factors[k], extents);
    if (!parts)
      return std::nullopt;
    result[k] = std::move(parts->first);
    rest = std::move(parts->second);
  }
  result[0] = std::move(rest);
  return result;
}

Affine number_of(const std::vector<Affine> &digits, const Shape &factors) {
  TILEFUSE_CHECK(!digits.empty() && digits.size() == factors.size(), "a digit for each factor");
  Affine result{std::vector<Rational>(digits[0].coeff.size()), {}};
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const Rational scale = product(factors, k + 1);
    for (std::size_t i = 0; i < result.coeff.size(); ++i)
      result.coeff[i] = result.coeff[i] + scale * digits[k].coeff[i];
    result.constant = result.constant + scale * digits[k].constant;
  }
  return result;
}

} // namespace tilefuse::program
