// SPDX-License-Identifier: Apache-2.0
// Exact rational numbers for subscripts such as (x + k - 1) / 2. Always in lowest terms,
// denominator > 0. Arithmetic that leaves 64 bits throws Error{Limit}.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tilefuse {

class Rational {
public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t whole) : num_(whole) {} // NOLINT: implicit on purpose
  // Throws Error{Limit} for den == 0.
  Rational(std::int64_t num, std::int64_t den);

  std::int64_t num() const { return num_; }
  std::int64_t den() const { return den_; }
  bool is_integer() const { return den_ == 1; }
  bool is_zero() const { return num_ == 0; }

  friend bool operator==(const Rational &, const Rational &) = default;
  friend std::strong_ordering operator<=>(const Rational &a, const Rational &b);
  friend Rational operator+(const Rational &a, const Rational &b);
  friend Rational operator-(const Rational &a, const Rational &b);
  friend Rational operator*(const Rational &a, const Rational &b);
  // Throws Error{Limit} for b == 0.
  friend Rational operator/(const Rational &a, const Rational &b);

private:
  std::int64_t num_ = 0;
  std::int64_t den_ = 1;
};

// "3" or "1/2".
std::string to_string(const Rational &value);

} // namespace tilefuse
