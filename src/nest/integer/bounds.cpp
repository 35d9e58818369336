// SPDX-License-Identifier: Apache-2.0
#include "nest/integer/bounds.h"

#include <algorithm>
#include <numeric>

#include "nest/integer/checked.h"
#include "nest/integer/simplex.h"

namespace tilefuse::nest {
namespace {

bool shares(const std::vector<std::int64_t> &coeff, const std::vector<bool> &uses) {
  for (std::size_t v = 0; v < coeff.size(); ++v)
    if (coeff[v] != 0 && uses[v])
      return true;
  return false;
}

// Ends past 62 bits count as missing: no size reaches them.
std::optional<std::int64_t> end_of(const Simplex::Minimum &minimum, Wide sign, Wide constant) {
  if (minimum.kind != Simplex::Minimum::Kind::Value)
    return std::nullopt;
  const Wide value = wide_add(sign * minimum.value, constant);
  if (value > kMaxMagnitude || value < -kMaxMagnitude)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

} // namespace

void Domain::add(const Condition &condition) {
  Row row{condition.form.coeff, -Wide{condition.form.constant}, 0, condition.name, condition.name};
  row.hi = Wide{condition.bound} - 1 + row.lo;
  std::int64_t factor = 0;
  for (const std::int64_t value : row.coeff)
    factor = std::gcd(factor, value);
  const auto first =
      std::find_if(row.coeff.begin(), row.coeff.end(), [](std::int64_t c) { return c != 0; });
  if (factor != 0) {
    row.lo = Fraction(row.lo, factor).ceil();
    row.hi = Fraction(row.hi, factor).floor();
    if (*first < 0) {
      factor = -factor;
      row.lo = -std::exchange(row.hi, -row.lo);
    }
    for (std::int64_t &value : row.coeff)
      value /= factor;
  }
  for (Row &known : rows_)
    if (known.coeff == row.coeff) {
      if (row.lo > known.lo)
        known.lo = row.lo, known.lo_name = condition.name;
      if (row.hi < known.hi)
        known.hi = row.hi, known.hi_name = condition.name;
      return;
    }
  rows_.push_back(std::move(row));
}

// The rows that bear on the variables in use, directly or through others; `uses` grows.
std::vector<Domain::Row> Domain::component(std::vector<bool> &uses) const {
  std::vector<bool> taken(rows_.size(), false);
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (taken[r] || !shares(rows_[r].coeff, uses))
        continue;
      taken[r] = grew = true;
      for (std::size_t v = 0; v < variables_; ++v)
        if (rows_[r].coeff[v] != 0)
          uses[v] = true;
    }
  }
  std::vector<Row> rows;
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (taken[r])
      rows.push_back(rows_[r]);
  return rows;
}

std::optional<Bounds> Domain::range(const Linear &form) const {
  std::vector<bool> uses(variables_, false);
  for (std::size_t v = 0; v < variables_; ++v)
    uses[v] = form.coeff[v] != 0;
  const std::vector<Row> rows = component(uses);
  std::vector<std::size_t> kept;
  for (std::size_t v = 0; v < variables_; ++v)
    if (uses[v])
      kept.push_back(v);
  const auto pick = [&](const std::vector<std::int64_t> &coeff, std::int64_t sign) {
    std::vector<std::int64_t> picked;
    for (const std::size_t v : kept)
      picked.push_back(sign * coeff[v]);
    return picked;
  };
  Simplex simplex(kept.size());
  for (const Row &row : rows) {
    if (row.lo > row.hi)
      return std::nullopt;
    simplex.add_row(pick(row.coeff, 1), row.lo, row.hi);
  }
  const Simplex::Minimum least = simplex.minimize(pick(form.coeff, 1));
  if (least.kind == Simplex::Minimum::Kind::Empty)
    return std::nullopt;
  const Simplex::Minimum most = simplex.minimize(pick(form.coeff, -1));
  return Bounds{end_of(least, 1, form.constant), end_of(most, -1, form.constant)};
}

std::optional<Bounds> Domain::range(std::size_t variable) const {
  Linear form{0, std::vector<std::int64_t>(variables_, 0)};
  form.coeff[variable] = 1;
  return range(form);
}

bool Domain::is_empty(const std::vector<Row> &rows) const {
  Domain part(variables_);
  part.rows_ = rows;
  return part.is_empty();
}

bool Domain::is_empty() const {
  std::vector<bool> seen(variables_, false);
  for (const Row &row : rows_) {
    if (row.lo > row.hi)
      return true;
    const auto first =
        std::find_if(row.coeff.begin(), row.coeff.end(), [](std::int64_t c) { return c != 0; });
    if (first == row.coeff.end()) {
      if (row.lo > 0 || row.hi < 0)
        return true;
      continue;
    }
    const auto variable = static_cast<std::size_t>(first - row.coeff.begin());
    if (seen[variable])
      continue;
    if (!range(variable))
      return true;
    std::vector<bool> uses(variables_, false);
    uses[variable] = true;
    component(uses);
    for (std::size_t v = 0; v < variables_; ++v)
      seen[v] = seen[v] || uses[v];
  }
  return false;
}

std::vector<std::string> Domain::conflict() const {
  if (!is_empty())
    return {};
  std::vector<Row> rows = rows_;
  for (std::size_t r = 0; r < rows.size();) {
    std::vector<Row> rest = rows;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(r));
    if (is_empty(rest))
      rows = std::move(rest);
    else
      ++r;
  }
  std::vector<std::string> names;
  for (const Row &row : rows)
    for (const std::string &name : {row.lo_name, row.hi_name})
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

} // namespace tilefuse::nest
