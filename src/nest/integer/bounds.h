// SPDX-License-Identifier: Apache-2.0
// The integer points that satisfy conditions 0 <= form < bound, and the exact range of any form
// over them.
//
// Conditions on the same form up to a factor are one: their intervals are intersected, rounded to
// the integers that the form can take. Ranges are those of integer points (simplex.h); in the rare
// case that the search for such points would take too long, a range may be wider than that, which
// costs time and never a result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nest/integer/fraction.h"
#include "nest/integer/interval.h"

namespace tilefuse::nest {

// Holds at points with 0 <= form < bound. `name` says what it is, for messages.
struct Condition {
  Linear form;
  std::int64_t bound = 0;
  std::string name;
};

// Of one form; a missing end is not bounded.
struct Bounds {
  std::optional<std::int64_t> lo;
  std::optional<std::int64_t> hi;
  bool is_finite() const { return lo && hi; }
};

class Domain {
public:
  explicit Domain(std::size_t variables) : variables_(variables) {}

  void add(const Condition &condition);
  // Exact; nothing when no point satisfies the conditions that bear on the form.
  std::optional<Bounds> range(const Linear &form) const;
  // range of a variable by itself.
  std::optional<Bounds> range(std::size_t variable) const;
  bool is_empty() const;
  // Names of conditions that contradict each other, none of which could be left out. Empty when the
  // domain is not.
  std::vector<std::string> conflict() const;

private:
  // lo <= sum of coeff * variable <= hi; the coefficients have no common factor and the first is
  // positive.
  struct Row {
    std::vector<std::int64_t> coeff;
    Wide lo = 0;
    Wide hi = 0;
    std::string lo_name; // of the condition that set this end
    std::string hi_name;
  };

  std::vector<Row> component(std::vector<bool> &uses) const;
  bool is_empty(const std::vector<Row> &rows) const;

  std::size_t variables_;
  std::vector<Row> rows_;
};

} // namespace tilefuse::nest
