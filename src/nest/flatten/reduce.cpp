// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "nest/integer/checked.h"
#include "nest/integer/lattice.h"

namespace tilefuse::nest {
namespace {

using program::Affine;
using Vector = std::vector<Rational>;

// Rows of full rank in echelon form, to tell whether another row is independent of them.
class Span {
public:
  // Adds the row; false when it is a combination of earlier ones.
  bool add(Vector row) {
    for (const auto &[pivot, known] : rows_) {
      if (row[pivot].is_zero())
        continue;
      const Rational factor = row[pivot] / known[pivot];
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = row[i] - factor * known[i];
    }
    const auto found =
        std::find_if(row.begin(), row.end(), [](const Rational &v) { return !v.is_zero(); });
    if (found == row.end())
      return false;
    rows_.emplace_back(static_cast<std::size_t>(found - row.begin()), std::move(row));
    return true;
  }

private:
  std::vector<std::pair<std::size_t, Vector>> rows_; // pivot position, row
};

// The inverse of a nonsingular matrix, by Gauss and Jordan.
std::vector<Vector> inverse(std::vector<Vector> matrix) {
  const std::size_t n = matrix.size();
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i].resize(2 * n, Rational(0));
    matrix[i][n + i] = Rational(1);
  }
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    while (pivot < n && matrix[pivot][column].is_zero())
      ++pivot;
    TILEFUSE_CHECK(pivot < n, "dependent variables");
    std::swap(matrix[pivot], matrix[column]);
    const Rational scale = matrix[column][column];
    for (Rational &value : matrix[column])
      value = value / scale;
    for (std::size_t row = 0; row < n; ++row) {
      const Rational factor = matrix[row][column];
      if (row == column || factor.is_zero())
        continue;
      for (std::size_t i = 0; i < 2 * n; ++i)
        matrix[row][i] = matrix[row][i] - factor * matrix[column][i];
    }
  }
  for (Vector &row : matrix)
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
  return matrix;
}

// What could become a reduced variable.
struct Candidate {
  Affine form;
  std::string name;
  std::int64_t range = 0;
  std::size_t order = 0; // of first appearance
};

class Reduction {
public:
  Reduction(const System &system, const std::vector<Interval> &ranges)
      : system_(system), ranges_(ranges) {}

  Reduced run() {
    choose_outputs();
    choose_reduced();
    rewrite();
    return std::move(reduced_);
  }

private:
  std::size_t count() const { return system_.indices.size(); }

  bool in_result(std::size_t index) const {
    return std::any_of(system_.rows.begin(),
                       system_.rows.begin() + static_cast<std::ptrdiff_t>(system_.results),
                       [&](const Row &row) { return !row.form.coeff[index].is_zero(); });
  }

  std::string name_of(const Affine &form) const {
    for (std::size_t i = 0; i < count(); ++i)
      if (!form.coeff[i].is_zero())
        return system_.indices[i];
    return "v";
  }

  void choose_outputs() {
    for (std::size_t r = 0; r < system_.results; ++r) {
      const Affine &form = system_.rows[r].form;
      if (!span_.add(form.coeff))
        continue;
      variables_.push_back(form);
      reduced_.names.push_back(name_of(form));
      reduced_.result_rows.push_back(r);
    }
    reduced_.outputs = variables_.size();
  }

  // Position of the first row after the result's that uses the index.
  std::size_t first_use(std::size_t index) const {
    for (std::size_t r = system_.results; r < system_.rows.size(); ++r)
      if (!system_.rows[r].form.coeff[index].is_zero())
        return r;
    return system_.rows.size();
  }

  std::int64_t range_of(std::size_t index) const {
    return ranges_[index].hi - ranges_[index].lo + 1;
  }

  // Values of a form with so many integers in range, once the outputs are settled: those of the
  // points that count, which may be some steps apart.
  std::int64_t values(const Affine &form, std::int64_t range) const {
    Rational step(0);
    for (const std::vector<std::int64_t> &direction : directions_) {
      Rational moved(0);
      for (std::size_t i = 0; i < count(); ++i)
        moved = moved + form.coeff[i] * Rational(direction[i]);
      if (moved.is_zero())
        continue;
      const std::int64_t scale = std::lcm(step.den(), moved.den());
      step = Rational(std::gcd((step * Rational(scale)).num(), (moved * Rational(scale)).num()),
                      scale);
    }
    return step > Rational(1) && step.is_integer() ? (range - 1) / step.num() + 1 : range;
  }

  void find_directions() {
    std::vector<Affine> subscripts;
    for (const Row &row : system_.rows)
      if (row.is_subscript)
        subscripts.push_back(row.form);
    if (const auto lattice = integral_points(subscripts, count()))
      directions_ = kernel(*lattice, variables_);
  }

  // A row of several indices must at least halve the range to be worth its guards; one that takes a
  // single value is an equation, which always is.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> all;
    const std::size_t rows = system_.rows.size();
    const auto add_index = [&](std::size_t i, std::int64_t range) {
      Affine form;
      form.coeff.resize(count());
      form.coeff[i] = Rational(1);
      all.push_back({form, system_.indices[i], values(form, range), first_use(i) * count() + i});
    };
    for (std::size_t i = 0; i < count(); ++i)
      if (!in_result(i))
        add_index(i, range_of(i));
    for (std::size_t r = system_.results; r < rows; ++r)
      if (system_.rows[r].is_subscript) {
        const Row &row = system_.rows[r];
        const std::int64_t count_of = values(row.form, row.bound);
        all.push_back(
            {row.form, name_of(row.form),
             count_of <= std::numeric_limits<std::int64_t>::max() / 2 ? 2 * count_of - 1 : count_of,
             r * count()});
      }
    for (std::size_t i = 0; i < count(); ++i)
      if (in_result(i))
        add_index(i, range_of(i));
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate &a, const Candidate &b) { return a.range < b.range; });
    return all;
  }

  void choose_reduced() {
    std::vector<Candidate> chosen;
    find_directions();
    if (variables_.size() < count())
      for (Candidate &candidate : candidates())
        if (span_.add(candidate.form.coeff))
          chosen.push_back(std::move(candidate));
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Candidate &a, const Candidate &b) { return a.order < b.order; });
    for (Candidate &candidate : chosen) {
      variables_.push_back(std::move(candidate.form));
      reduced_.names.push_back(std::move(candidate.name));
    }
  }

  // The form over the old indices, which are known over the variables.
  Affine rewritten(const Affine &form) const {
    Affine result;
    result.coeff.resize(count());
    result.constant = form.constant;
    for (std::size_t i = 0; i < count(); ++i) {
      if (form.coeff[i].is_zero())
        continue;
      const Affine &index = reduced_.indices[i];
      result.constant = result.constant + form.coeff[i] * index.constant;
      for (std::size_t v = 0; v < count(); ++v)
        result.coeff[v] = result.coeff[v] + form.coeff[i] * index.coeff[v];
    }
    return result;
  }

  void rewrite() {
    std::vector<Vector> matrix;
    for (const Affine &variable : variables_)
      matrix.push_back(variable.coeff);
    for (Vector &row : inverse(std::move(matrix))) {
      Affine index{std::move(row), Rational(0)};
      for (std::size_t v = 0; v < count(); ++v)
        index.constant = index.constant - index.coeff[v] * variables_[v].constant;
      reduced_.indices.push_back(std::move(index));
    }
    for (const Row &row : system_.rows)
      reduced_.rows.push_back({rewritten(row.form), row.bound, row.is_subscript, row.name});
  }

  const System &system_;
  const std::vector<Interval> &ranges_;
  Span span_;
  std::vector<Affine> variables_;                     // over the old indices
  std::vector<std::vector<std::int64_t>> directions_; // of the points with the same outputs
  Reduced reduced_;
};

} // namespace

Domain domain_of(const System &system) {
  Domain domain(system.indices.size());
  for (const Row &row : system.rows) {
    std::int64_t scale = row.form.constant.den();
    for (const Rational &value : row.form.coeff)
      scale = checked_mul(scale / std::gcd(scale, value.den()), value.den());
    const auto scaled = [&](const Rational &value) {
      return checked_mul(value.num(), scale / value.den());
    };
    Condition condition{{scaled(row.form.constant), {}}, checked_mul(row.bound, scale), row.name};
    for (const Rational &value : row.form.coeff)
      condition.form.coeff.push_back(scaled(value));
    if (row.is_subscript)
      condition.bound = checked_add(checked_mul(row.bound - 1, scale), 1);
    domain.add(condition);
  }
  return domain;
}

Reduced reduce(const System &system, const std::vector<Interval> &ranges) {
  return Reduction(system, ranges).run();
}

} // namespace tilefuse::nest
