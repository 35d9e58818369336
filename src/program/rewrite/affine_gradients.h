// SPDX-License-Identifier: Apache-2.0
// A gradient that is affine, channel by channel, in what comes back to it and in a product's own
// result, as a normalisation's is, and that the gradients of this product alone read, is never
// made: products and sums are linear. With a : [p, c], w : [m, c], channels m and c, points p,
//
//   %4 "x"  = sum[p, m, c](%a[p, c] * %w[m, c]) -> [p, m]
//   %5 "s"  = sum[p, m](%dz[p, m] * %4[p, m]) -> [m]
//   %6 "g"  = map[%dz, %4, …](A * $0 + B * $1 + C)            A, B, C : [m], of %5 and others
//   %7 "da" = sum[p, m, c](%6[p, m] * %w[m, c]) -> [p, c]
//   %8 "dw" = sum[p, m, c](%6[p, m] * %a[p, c]) -> [m, c]
// becomes
//   P  [m, c] = sum[p] dz[p, m] * a[p, c]
//   G  [k, c] = sum[p] a[p, k] * a[p, c]
//   s  [m]    = sum[c] P[m, c] * w[m, c]
//   dw [m, c] = A[m] * P[m, c] + B[m] * (sum[k] w[m, k] * G[k, c]) + C[m] * (sum[p] a[p, c])
//   da [p, c] = sum[m] dz[p, m] * (A[m] * w[m, c]) + sum[k] a[p, k] * Q[k, c] + (sum[m] C[m] * w[m, c])
//   Q  [k, c] = sum[m] w[m, k] * B[m] * w[m, c]
//
// so that neither g is stored nor x read again, which need not be kept: of the wider side dz alone
// is read, twice, for five times the narrower side.
//
// Ensures: every value is what it was, up to the order of additions and to the rounding of A * w and
// of Q to the filter's type, where x and g were rounded to theirs.
#pragma once

#include "program/rewrite/price.h"

namespace tilefuse::program {

// Requires a verified program whose maps are composed. `price` is asked for the statements above
// alone, as they are and as they become, over [p, m], [p, c] and [m, c].
Program affine_gradients(const Program &program, const Price &price);

} // namespace tilefuse::program
