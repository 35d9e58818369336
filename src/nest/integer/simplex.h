// SPDX-License-Identifier: Apache-2.0
// Linear and integer programs in exact arithmetic, small ones: a few variables and rows. The
// general simplex of Dutertre and de Moura (2006, "A fast linear-arithmetic solver for DPLL(T)"):
// every row is a variable of its own, bounds stand on variables, Bland's rule ends every walk.
// Integers come by branch and bound.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nest/integer/fraction.h"

namespace tilefuse::nest {

class Simplex {
public:
  // `variables` free ones.
  explicit Simplex(std::size_t variables);

  // lo <= sum of coeff * variable <= hi; a missing end does not bound.
  void add_row(std::span<const std::int64_t> coeff, std::optional<Wide> lo, std::optional<Wide> hi);

  // What minimising found. A value is the exact minimum unless `is_exact` is false: then it is a
  // bound from below, since the search for integers was cut short.
  struct Minimum {
    enum class Kind { Empty, Unbounded, Value } kind = Kind::Value;
    Wide value = 0;
    bool is_exact = true;
  };
  // The least value of an integer form at integer points.
  Minimum minimize(std::span<const std::int64_t> coeff) const;

private:
  struct Node;
  struct Search;

  std::size_t add_variable(std::optional<Fraction> lo, std::optional<Fraction> hi);
  bool tighten(std::size_t variable, std::optional<Fraction> lo, std::optional<Fraction> hi);
  bool make_feasible();
  // False when unbounded below. `row` holds the objective.
  bool descend(std::size_t row);
  bool can_move(std::size_t variable, int direction) const;
  void pivot(std::size_t row, std::size_t column);
  void shift(std::size_t column, const Fraction &by);
  bool step(std::size_t objective, std::size_t column, int direction);

  std::size_t variables_;
  std::vector<std::optional<Fraction>> lo_, hi_; // by variable
  std::vector<Fraction> value_;                  // by variable
  std::vector<std::size_t> basic_;               // by row: the variable it defines
  std::vector<std::size_t> nonbasic_;            // by column
  std::vector<std::vector<Fraction>> tableau_;   // (row, column)
};

} // namespace tilefuse::nest
