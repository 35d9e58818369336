// SPDX-License-Identifier: Apache-2.0
#include "base/rational.h"

#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse {
namespace {

__extension__ typedef __int128 Wide;

std::int64_t narrow(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < -std::numeric_limits<std::int64_t>::max())
    throw Error(ErrorCode::Limit, "a subscript's coefficient does not fit in 64 bits");
  return static_cast<std::int64_t>(value);
}

Wide gcd(Wide a, Wide b) {
  if (a < 0)
    a = -a;
  while (b != 0) {
    const Wide rest = a % b;
    a = b < 0 ? -b : b;
    b = rest < 0 ? -rest : rest;
  }
  return a;
}

struct Terms {
  std::int64_t num;
  std::int64_t den;
};

// Lowest terms with a positive denominator.
Terms lowest(Wide num, Wide den) {
  if (den == 0)
    throw Error(ErrorCode::Limit, "division by zero in a subscript");
  if (den < 0)
    num = -num, den = -den;
  if (den == 1)
    return {narrow(num), 1};
  const Wide divisor = gcd(num, den);
  return {narrow(num / divisor), narrow(den / divisor)};
}

Rational reduced(Wide num, Wide den) {
  const Terms terms = lowest(num, den);
  return Rational(terms.num, terms.den);
}

} // namespace

Rational::Rational(std::int64_t num, std::int64_t den) {
  const Terms terms = lowest(num, den);
  num_ = terms.num;
  den_ = terms.den;
}

std::strong_ordering operator<=>(const Rational &a, const Rational &b) {
  const Wide left = Wide{a.num_} * b.den_;
  const Wide right = Wide{b.num_} * a.den_;
  return left < right
             ? std::strong_ordering::less
             : (left > right ? std::strong_ordering::greater : std::strong_ordering::equal);
}
Rational operator+(const Rational &a, const Rational &b) {
  return reduced(Wide{a.num_} * b.den_ + Wide{b.num_} * a.den_, Wide{a.den_} * b.den_);
}
Rational operator-(const Rational &a, const Rational &b) {
  return reduced(Wide{a.num_} * b.den_ - Wide{b.num_} * a.den_, Wide{a.den_} * b.den_);
}
Rational operator*(const Rational &a, const Rational &b) {
  return reduced(Wide{a.num_} * b.num_, Wide{a.den_} * b.den_);
}
Rational operator/(const Rational &a, const Rational &b) {
  return reduced(Wide{a.num_} * b.den_, Wide{a.den_} * b.num_);
}

std::string to_string(const Rational &value) {
  return value.is_integer() ? fmt::format("{}", value.num())
                            : fmt::format("{}/{}", value.num(), value.den());
}

} // namespace tilefuse
