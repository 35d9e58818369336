// SPDX-License-Identifier: Apache-2.0
#include "nest/integer/simplex.h"

#include <algorithm>

namespace tilefuse::nest {
namespace {

// Subproblems of one branch and bound; ranges of real statements take one or two.
constexpr int kMaxNodes = 2000;

} // namespace

Simplex::Simplex(std::size_t variables) : variables_(variables) {
  for (std::size_t v = 0; v < variables; ++v)
    nonbasic_.push_back(add_variable({}, {}));
}

std::size_t Simplex::add_variable(std::optional<Fraction> lo, std::optional<Fraction> hi) {
  lo_.push_back(lo);
  hi_.push_back(hi);
  value_.emplace_back();
  return value_.size() - 1;
}

void Simplex::add_row(std::span<const std::int64_t> coeff, std::optional<Wide> lo,
                      std::optional<Wide> hi) {
  std::vector<Fraction> row(nonbasic_.size());
  const auto column_of = [&](std::size_t v) {
    return std::find(nonbasic_.begin(), nonbasic_.end(), v) - nonbasic_.begin();
  };
  for (std::size_t v = 0; v < variables_; ++v) {
    if (coeff[v] == 0)
      continue;
    const auto column = static_cast<std::size_t>(column_of(v));
    if (column < nonbasic_.size()) {
      row[column] = row[column] + Fraction(coeff[v]);
      continue;
    }
    const auto at =
        static_cast<std::size_t>(std::find(basic_.begin(), basic_.end(), v) - basic_.begin());
    for (std::size_t j = 0; j < row.size(); ++j)
      row[j] = row[j] + Fraction(coeff[v]) * tableau_[at][j];
  }
  const auto bound = [](std::optional<Wide> value) {
    return value ? std::optional(Fraction(*value)) : std::nullopt;
  };
  const std::size_t slack = add_variable(bound(lo), bound(hi));
  for (std::size_t j = 0; j < row.size(); ++j)
    value_[slack] = value_[slack] + row[j] * value_[nonbasic_[j]];
  basic_.push_back(slack);
  tableau_.push_back(std::move(row));
}

// False when the bounds cross.
bool Simplex::tighten(std::size_t variable, std::optional<Fraction> lo,
                      std::optional<Fraction> hi) {
  if (lo && (!lo_[variable] || *lo_[variable] < *lo))
    lo_[variable] = lo;
  if (hi && (!hi_[variable] || *hi < *hi_[variable]))
    hi_[variable] = hi;
  if (lo_[variable] && hi_[variable] && *hi_[variable] < *lo_[variable])
    return false;
  const auto at = std::find(nonbasic_.begin(), nonbasic_.end(), variable);
  if (at == nonbasic_.end())
    return true;
  const auto column = static_cast<std::size_t>(at - nonbasic_.begin());
  if (lo_[variable] && value_[variable] < *lo_[variable])
    shift(column, *lo_[variable] - value_[variable]);
  if (hi_[variable] && *hi_[variable] < value_[variable])
    shift(column, *hi_[variable] - value_[variable]);
  return true;
}

void Simplex::shift(std::size_t column, const Fraction &by) {
  value_[nonbasic_[column]] = value_[nonbasic_[column]] + by;
  for (std::size_t r = 0; r < basic_.size(); ++r)
    value_[basic_[r]] = value_[basic_[r]] + tableau_[r][column] * by;
}

bool Simplex::can_move(std::size_t variable, int direction) const {
  if (direction > 0)
    return !hi_[variable] || value_[variable] < *hi_[variable];
  return !lo_[variable] || *lo_[variable] < value_[variable];
}

// The row's variable leaves the basis, the column's enters; values stay.
void Simplex::pivot(std::size_t row, std::size_t column) {
  const Fraction inverse = Fraction(1) / tableau_[row][column];
  std::vector<Fraction> solved(nonbasic_.size());
  for (std::size_t j = 0; j < solved.size(); ++j)
    solved[j] = j == column ? inverse : Fraction(0) - tableau_[row][j] * inverse;
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    if (r == row)
      continue;
    const Fraction factor = tableau_[r][column];
    if (factor.sign() == 0)
      continue;
    for (std::size_t j = 0; j < solved.size(); ++j)
      tableau_[r][j] = j == column ? factor * solved[j] : tableau_[r][j] + factor * solved[j];
  }
  tableau_[row] = std::move(solved);
  std::swap(basic_[row], nonbasic_[column]);
}

bool Simplex::make_feasible() {
  while (true) {
    std::optional<std::size_t> row;
    int direction = 0;
    for (std::size_t r = 0; r < basic_.size(); ++r) {
      const std::size_t v = basic_[r];
      const int way = lo_[v] && value_[v] < *lo_[v] ? 1 : (hi_[v] && *hi_[v] < value_[v] ? -1 : 0);
      if (way != 0 && (!row || v < basic_[*row]))
        row = r, direction = way;
    }
    if (!row)
      return true;
    std::optional<std::size_t> column;
    for (std::size_t j = 0; j < nonbasic_.size(); ++j) {
      const int sign = tableau_[*row][j].sign() * direction;
      if (sign != 0 && can_move(nonbasic_[j], sign) &&
          (!column || nonbasic_[j] < nonbasic_[*column]))
        column = j;
    }
    if (!column)
      return false;
    const std::size_t v = basic_[*row];
    const Fraction target = direction > 0 ? *lo_[v] : *hi_[v];
    shift(*column, (target - value_[v]) / tableau_[*row][*column]);
    pivot(*row, *column);
  }
}

// Moves the column's variable until a bound stops it; false when none does.
bool Simplex::step(std::size_t objective, std::size_t column, int direction) {
  const std::size_t entering = nonbasic_[column];
  std::optional<Fraction> reach; // of the entering variable, in absolute terms
  const std::optional<Fraction> &own = direction > 0 ? hi_[entering] : lo_[entering];
  if (own)
    reach = direction > 0 ? *own - value_[entering] : value_[entering] - *own;
  std::optional<std::size_t> leaving;
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    const int way = tableau_[r][column].sign() * direction;
    if (r == objective || way == 0)
      continue;
    const std::size_t v = basic_[r];
    const std::optional<Fraction> &bound = way > 0 ? hi_[v] : lo_[v];
    if (!bound)
      continue;
    const Fraction rate = Fraction(direction) * tableau_[r][column];
    const Fraction room = (*bound - value_[v]) / rate;
    const bool ties = reach && room == *reach;
    if (!reach || room < *reach || (ties && leaving && v < basic_[*leaving]))
      reach = room, leaving = r;
  }
  if (!reach)
    return false;
  shift(column, Fraction(direction) * *reach);
  if (leaving)
    pivot(*leaving, column);
  return true;
}

bool Simplex::descend(std::size_t row) {
  while (true) {
    std::optional<std::size_t> column;
    int direction = 0;
    for (std::size_t j = 0; j < nonbasic_.size(); ++j) {
      const int way = -tableau_[row][j].sign();
      if (way != 0 && can_move(nonbasic_[j], way) && (!column || nonbasic_[j] < nonbasic_[*column]))
        column = j, direction = way;
    }
    if (!column)
      return true;
    if (!step(row, *column, direction))
      return false;
  }
}

// Depth-first search for the integer point of least value.
struct Simplex::Search {
  std::size_t objective;
  std::optional<Wide> best;
  std::optional<Wide> root;
  int nodes = 0;
  bool is_unbounded = false;

  bool is_done() const { return is_unbounded || nodes > kMaxNodes || (best && *best == *root); }

  void visit(Simplex problem) {
    if (is_done())
      return;
    ++nodes;
    if (!problem.make_feasible())
      return;
    const auto row = static_cast<std::size_t>(
        std::find(problem.basic_.begin(), problem.basic_.end(), objective) -
        problem.basic_.begin());
    if (!problem.descend(row)) {
      is_unbounded = true;
      return;
    }
    const Wide bound = problem.value_[objective].ceil();
    if (!root)
      root = bound;
    if (best && bound >= *best)
      return;
    branch(std::move(problem), bound);
  }

  void branch(Simplex problem, Wide bound) {
    std::size_t fractional = problem.variables_;
    for (std::size_t v = 0; v < problem.variables_; ++v)
      if (!problem.value_[v].is_integer()) {
        fractional = v;
        break;
      }
    if (fractional == problem.variables_) {
      best = bound;
      return;
    }
    const Fraction below(problem.value_[fractional].floor());
    Simplex above = problem;
    if (problem.tighten(fractional, {}, below))
      visit(std::move(problem));
    if (above.tighten(fractional, below + Fraction(1), {}))
      visit(std::move(above));
  }
};

Simplex::Minimum Simplex::minimize(std::span<const std::int64_t> coeff) const {
  Simplex problem = *this;
  problem.add_row(coeff, {}, {});
  Search search{.objective = problem.value_.size() - 1};
  search.visit(std::move(problem));
  using Kind = Minimum::Kind;
  if (search.is_unbounded)
    return {Kind::Unbounded, 0, true};
  if (search.nodes > kMaxNodes)
    return {Kind::Value, *search.root, false};
  return search.best ? Minimum{Kind::Value, *search.best, true} : Minimum{Kind::Empty, 0, true};
}

} // namespace tilefuse::nest
