// SPDX-License-Identifier: Apache-2.0
// Residue classes of a result: the elements of one class are `radix` apart in every dimension and
// are computed from the same taps, so that a class is an exact box. Neighbouring classes that are
// alike (the same extents, taps that move by equal steps) form a run, whose residue is an index
// of one nest: nearest upsampling and pixel shuffle are one run, a 3x3 transposed convolution of
// stride 2 is 2 x 2 runs of 2 x 2, 2 x 1, 1 x 2 and 1 x 1 taps.
#pragma once

#include <vector>

#include "nest/flatten/defract.h"

namespace tilefuse::nest {

// Residues first, first + 1, … of one output variable.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// What the points of one class have in common: of every reduced variable its least value in range
// while digits are 0. No point of the lattice has the residues of a class unless every variable's
// is reached.
struct ClassTaps {
  std::vector<bool> reached;       // by output variable
  std::vector<std::int64_t> first; // by variable; 0 for output variables
  std::vector<std::int64_t> count; // by variable: values `radix` apart
  bool is_reached() const;
};

class Residues {
public:
  // Output variable j is lo + residue + radix[j] * whole; ranges[j].lo is its first value, and
  // ranges hold those of all variables. Throws Error{Limit} when variables whose classes depend on
  // each other have more than 2^16.
  Residues(const Defracted &defracted, std::vector<Interval> ranges);

  // The class of one residue per output variable.
  ClassTaps at(const std::vector<std::int64_t> &residues) const;
  // By output variable; each variable's runs cover its residues in order.
  const std::vector<std::vector<Run>> &runs() const { return runs_; }
  const std::vector<Interval> &ranges() const { return ranges_; }

private:
  std::vector<bool> coupled(std::size_t j) const;
  std::vector<Run> cut(std::size_t j) const;
  bool is_alike(std::size_t j, std::int64_t residue, const std::vector<bool> &with,
                std::vector<std::int64_t> &steps) const;

  const Defracted &defracted_;
  std::vector<Interval> ranges_;
  std::vector<std::int64_t> radix_; // of the output variables, at most their range
  std::vector<std::vector<Run>> runs_;
};

} // namespace tilefuse::nest
