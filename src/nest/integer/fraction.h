// SPDX-License-Identifier: Apache-2.0
// Exact fractions of 128-bit integers for the simplex method, whose numbers outgrow those of the
// subscripts they come from. Results past 128 bits throw Error{Limit}.
#pragma once

#include <utility>

#include "base/error.h"

namespace tilefuse::nest {

__extension__ typedef __int128 Wide;

[[noreturn]] inline void fail_wide() {
  throw Error(ErrorCode::Limit, "index ranges too large to reason about exactly in 128 bits");
}

inline Wide wide_add(Wide a, Wide b) {
  Wide sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (fail_wide(), sum) : sum;
}
inline Wide wide_mul(Wide a, Wide b) {
  Wide product = 0;
  return __builtin_mul_overflow(a, b, &product) ? (fail_wide(), product) : product;
}

inline Wide wide_gcd(Wide a, Wide b) {
  while (b != 0)
    a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

// In lowest terms, denominator > 0.
class Fraction {
public:
  Fraction(Wide whole = 0) : num_(whole) {} // NOLINT: implicit on purpose
  Fraction(Wide num, Wide den) : num_(den < 0 ? -num : num), den_(den < 0 ? -den : den) {
    if (den_ == 1)
      return;
    const Wide common = wide_gcd(num_, den_);
    num_ /= common;
    den_ /= common;
  }

  bool is_integer() const { return den_ == 1; }
  int sign() const { return num_ > 0 ? 1 : (num_ < 0 ? -1 : 0); }
  Wide floor() const { return num_ / den_ - (num_ % den_ != 0 && num_ < 0 ? 1 : 0); }
  Wide ceil() const { return -Fraction(-num_, den_).floor(); }

  friend bool operator==(const Fraction &, const Fraction &) = default;
  friend bool operator<(const Fraction &a, const Fraction &b) { return (a - b).sign() < 0; }
  friend Fraction operator+(const Fraction &a, const Fraction &b) {
    if (a.den_ == b.den_)
      return {wide_add(a.num_, b.num_), a.den_};
    return {wide_add(wide_mul(a.num_, b.den_), wide_mul(b.num_, a.den_)), wide_mul(a.den_, b.den_)};
  }
  friend Fraction operator-(const Fraction &a, const Fraction &b) {
    return a + Fraction(-b.num_, b.den_);
  }
  friend Fraction operator*(const Fraction &a, const Fraction &b) {
    return {wide_mul(a.num_, b.num_), wide_mul(a.den_, b.den_)};
  }
  friend Fraction operator/(const Fraction &a, const Fraction &b) {
    return {wide_mul(a.num_, b.den_), wide_mul(a.den_, b.num_)};
  }

private:
  Wide num_ = 0;
  Wide den_ = 1;
};

} // namespace tilefuse::nest
