// SPDX-License-Identifier: Apache-2.0
// Two shapes of the same elements in row-major order, as products of common factors, and subscripts
// as digits of such factors:
//
//   [6304, 768] and [197, 32, 12, 64] have factors 197, 32, 12, 64; the first dimension of the first
//   is those at 0 and 1, its second those at 2 and 3.
//   64*h + d with h < 12, d < 64 has the digits h and d of 12 and 64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Regrouping {
  Shape factors;                              // outermost first; none is 1
  std::vector<std::vector<std::size_t>> a, b; // by dimension of each shape: its factors, in order
};

// Nothing where the shapes have no such factors, or no elements.
std::optional<Regrouping> regroup(const Shape &a, const Shape &b);

// Extents of indices that start at 0; 0 where one is not known.
using Extents = std::vector<std::int64_t>;

// Whether a form has whole coefficients and a whole constant.
bool is_integral(const Affine &form);

// Whether a form is in [0, size) at every point.
bool is_within(const Affine &form, std::int64_t size, const Extents &extents);

// A form within the product of `factors` as integer forms within each; nothing where it is no such
// sum.
std::optional<std::vector<Affine>> digits(const Affine &form, const Shape &factors,
                                          const Extents &extents);

// sum of digits[k] * the product of the factors behind k.
Affine number_of(const std::vector<Affine> &digits, const Shape &factors);

} // namespace tilefuse::program
