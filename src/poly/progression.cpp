// SPDX-License-Identifier: Apache-2.0
#include "poly/progression.h"

#include <algorithm>
#include <numeric>

namespace tilefuse::poly {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return -floor_divide(-a, b); }

Progression scaled(const Progression &values, std::int64_t by) {
  if (by > 0)
    return {values.first * by, values.last * by, values.step * by, values.has_gaps};
  return {values.last * by, values.first * by, -values.step * by, values.has_gaps};
}

// All sums of one of `a` and one of `b`. They are a progression when the finer one reaches from one
// number of the coarser to the next.
Progression sums(const Progression &a, const Progression &b) {
  Progression sum{a.first + b.first, a.last + b.last, 1, a.has_gaps || b.has_gaps};
  const std::int64_t a_count = a.count();
  const std::int64_t b_count = b.count();
  if (a_count == 1 || b_count == 1) {
    if (a_count != b_count)
      sum.step = a_count == 1 ? b.step : a.step;
    return sum;
  }
  const Progression &fine = a.step <= b.step ? a : b;
  const Progression &coarse = a.step <= b.step ? b : a;
  sum.step = std::gcd(fine.step, coarse.step);
  const bool meets = coarse.step % fine.step == 0 && coarse.step / fine.step <= fine.count();
  sum.has_gaps = sum.has_gaps || !meets;
  return sum;
}

// The multiples of `divisor`, divided by it.
Progression divided(const Progression &values, std::int64_t divisor) {
  if (divisor == 1 || values.is_empty())
    return values;
  const std::int64_t common = std::gcd(values.step, divisor);
  Progression result{0, -1, divisor / common * values.step / divisor, values.has_gaps};
  std::int64_t first = values.first;
  for (std::int64_t tries = divisor / common; tries > 0 && first % divisor != 0; --tries)
    first += values.step;
  if (first % divisor != 0 || first > values.last)
    return {0, -1, 1, false};
  const std::int64_t period = divisor / common * values.step;
  const std::int64_t last = first + (values.last - first) / period * period;
  result.first = first / divisor;
  result.last = last / divisor;
  return result;
}

} // namespace

Progression whole(std::int64_t extent) { return {0, extent - 1, 1, false}; }

Progression tile_of(std::int64_t extent, std::int64_t tile_size, std::int64_t tile) {
  return {tile * tile_size, std::min(extent, (tile + 1) * tile_size) - 1, 1, false};
}

Progression image(const nest::Linear &form, std::int64_t divisor,
                  std::span<const Progression> variables) {
  std::vector<Progression> terms;
  for (std::size_t v = 0; v < form.coeff.size(); ++v) {
    if (variables[v].is_empty())
      return {0, -1, 1, false};
    if (form.coeff[v] != 0)
      terms.push_back(scaled(variables[v], form.coeff[v]));
  }
  std::sort(terms.begin(), terms.end(),
            [](const Progression &a, const Progression &b) { return a.step < b.step; });
  Progression sum{form.constant, form.constant, 1, false};
  for (const Progression &term : terms)
    sum = sums(sum, term);
  return divided(sum, divisor);
}

Progression clipped(const Progression &all, std::int64_t size) {
  Progression inside = all;
  if (all.is_empty())
    return inside;
  if (inside.first < 0)
    inside.first += ceil_divide(-inside.first, inside.step) * inside.step;
  if (inside.last >= size)
    inside.last -= ceil_divide(inside.last - size + 1, inside.step) * inside.step;
  return inside.is_empty() ? Progression{0, -1, 1, false} : inside;
}

Progression hull(const Progression &a, const Progression &b) {
  if (a.is_empty() || b.is_empty())
    return a.is_empty() ? b : a;
  Progression both{std::min(a.first, b.first), std::max(a.last, b.last), 1, true};
  both.step = std::gcd(std::gcd(a.step, b.step), std::abs(a.first - b.first));
  both.step = std::max<std::int64_t>(both.step, 1);
  const auto covers = [&](const Progression &all, const Progression &part) {
    return all.step == both.step && all.first <= part.first && part.last <= all.last;
  };
  const bool meet = a.step == both.step && b.step == both.step &&
                    std::max(a.first, b.first) <= std::min(a.last, b.last) + both.step;
  both.has_gaps = a.has_gaps || b.has_gaps || !(covers(a, b) || covers(b, a) || meet);
  return both;
}

} // namespace tilefuse::poly
