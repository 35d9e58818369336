// SPDX-License-Identifier: Apache-2.0
// The second half of making subscripts integer: variables are split, mixed-radix, into digits and
// wholes, so that every subscript is an integer affine form and no modulo or division is left.
//
//   O[v0] = +(I[(v0 - v1) / 2])     →     v0 = v0_0 + 2*v0_1, v1 = v0_0 + 2*v1_0:
//
//   index v0_0 2, v0_1 50, v1_0 2
//   v0_0 + 2*v0_1 : 100
//   v0_1 - v1_0 : 50
//   where -v0_1 + v1_0 <= 0
//
// The points that count form a lattice (lattice.h). Variable j of one lattice point is
//   offset[j] + sum over i <= j of basis[i][j] * digit i + radix[j] * whole j,
// where radix[j] is how far one may step along variable j alone, and digit i takes radix[i] /
// basis[i][i] values. A digit of an output variable is a residue class of the result (residues.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nest/flatten/reduce.h"
#include "nest/integer/bounds.h"
#include "nest/integer/lattice.h"

namespace tilefuse::nest {

struct Defracted {
  Reduced reduced;
  Lattice lattice;                  // of the variables
  std::vector<std::int64_t> digits; // by variable: how many values its digit takes
  std::vector<std::int64_t> radix;  // by variable
  Domain domain{0};                 // over the multipliers of the lattice, exact

  // Variable j over the multipliers of the lattice.
  Linear multiples(std::size_t j) const;
};

// Throws Error{Shape} naming the subscripts that are never whole numbers together, or the
// conditions that no point satisfies.
Defracted defract(Reduced reduced);

// A form over the variables as one over what the variables are made of, times `scale`; the result
// is an integer form.
Linear substitute(const program::Affine &form, std::span<const Linear> variables,
                  std::int64_t scale);

// The row as a condition on what the variables are made of.
Condition condition_of(const Row &row, std::span<const Linear> variables);

// Index ranges, one line per subscript with its size, and what the ranges do not imply: the text
// above. Ranges start at 0, indices of one point are left out.
std::string to_text(const Defracted &defracted);

} // namespace tilefuse::nest
