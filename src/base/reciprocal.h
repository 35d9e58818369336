// SPDX-License-Identifier: Apache-2.0
// A division by a number known beforehand as two products that round as it does:
//
//   high = 1 / divisor, rounded           low = 1 / divisor - high
//   x / divisor = fma(x, high, x * low)   for every x of f32
//
// (Brisebarre, Muller, Raina 2004). With `high` and `low` up to a few neighbours beside, what is rounded
// last is within 2^-43 of the quotient. Few quotients lie so near to the middle of two neighbours: those
// of X * 2^k = M * C + d with |d| <= 32, X and C the significands of x and of the divisor, M an odd
// number of 25 bits. Each is tried; where one rounds otherwise, another `high` or `low` is, and a
// division for which none is right has no such form.
//
// Zeros and what is no number come out as those of the division. Quotients below 2^-60 are within
// 2^-150 of it.
#pragma once

#include <optional>

namespace tilefuse {

// 0 in `low` where the divisor is a power of two: `high` alone is right then, and x * low may be no
// number.
struct Reciprocal {
  float high = 0;
  float low = 0;
};

// Where infinities are divided too, both products must have the same sign: 98 % of all divisors have
// such a pair; of finite numbers alone, 99.97 %.
enum class Dividends { Finite, All };

// Nothing where no such products are right, or the divisor lies outside 2^-40 to 2^40.
std::optional<Reciprocal> reciprocal(float divisor, Dividends dividends);

} // namespace tilefuse
