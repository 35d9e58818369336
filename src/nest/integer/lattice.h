// SPDX-License-Identifier: Apache-2.0
// Integer points at which rational affine forms are whole: x such that x/2 + 1/2 is an integer are
// the odd numbers. Such points are offset + basis * Z^n, the dual of the lattice that the forms
// span; the basis is in Hermite normal form, so that coordinate j is settled by the first j + 1
// multipliers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/program.h"

namespace tilefuse::nest {

// The points offset + sum of t_j * basis[j]. Lower triangular: basis[j][i] is 0 for i < j and
// positive for i = j; entries of a row left of its diagonal lie in [0, diagonal), and so does the
// offset.
struct Lattice {
  std::vector<std::int64_t> offset;
  std::vector<std::vector<std::int64_t>> basis; // by column
  friend bool operator==(const Lattice &, const Lattice &) = default;
};

// The points of Z^n at which all forms (over n variables) are integers; nothing when there are
// none. Throws Error{Limit} when numbers leave 62 bits.
std::optional<Lattice> integral_points(std::span<const program::Affine> forms, std::size_t n);

// The smallest p > 0 such that p steps along coordinate j stay in the lattice.
std::int64_t period(const Lattice &lattice, std::size_t j);

// A basis of the lattice's directions along which none of the forms changes, as columns.
std::vector<std::vector<std::int64_t>> kernel(const Lattice &lattice,
                                              std::span<const program::Affine> forms);

// Brings the columns of a nonsingular basis into Hermite normal form; they span the same lattice.
void to_hermite(std::vector<std::vector<std::int64_t>> &columns);

} // namespace tilefuse::nest
