// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/defract.h"

#include <numeric>

#include <fmt/format.h>

#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

using program::Affine;

std::int64_t denominator(const Affine &form) {
  std::int64_t scale = form.constant.den();
  for (const Rational &value : form.coeff)
    scale = checked_mul(scale / std::gcd(scale, value.den()), value.den());
  return scale;
}

std::vector<Affine> integral_forms(const Reduced &reduced) {
  std::vector<Affine> forms = reduced.indices;
  for (const Row &row : reduced.rows)
    if (row.is_subscript)
      forms.push_back(row.form);
  return forms;
}

// Subscripts that are never whole numbers together, none of which could be left out.
[[noreturn]] void fail_fractional(const Reduced &reduced) {
  std::vector<const Row *> rows;
  for (const Row &row : reduced.rows)
    if (row.is_subscript)
      rows.push_back(&row);
  const auto has_points = [&](const std::vector<const Row *> &some) {
    std::vector<Affine> forms = reduced.indices;
    for (const Row *row : some)
      forms.push_back(row->form);
    return integral_points(forms, reduced.names.size()).has_value();
  };
  for (std::size_t r = 0; r < rows.size();) {
    std::vector<const Row *> rest = rows;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(r));
    if (has_points(rest))
      ++r;
    else
      rows = std::move(rest);
  }
  std::string names;
  for (const Row *row : rows)
    names += (names.empty() ? "" : " and ") + row->name;
  throw Error(ErrorCode::Shape,
              fmt::format("nothing is computed: {} {} no whole number at any point", names,
                          rows.size() > 1 ? "give together" : "gives"));
}

// One index per digit and whole, ranges from 0, indices of one point left out.
struct DigitBox {
  std::vector<Index> indices;
  std::vector<Linear> variables;
};

DigitBox digit_box(const Defracted &from) {
  const std::size_t n = from.reduced.names.size();
  std::vector<Linear> variables;
  for (std::size_t j = 0; j < n; ++j) {
    variables.push_back({from.lattice.offset[j], std::vector<std::int64_t>(2 * n, 0)});
    for (std::size_t i = 0; i <= j; ++i)
      variables.back().coeff[2 * i] = from.digits[i] > 1 ? from.lattice.basis[i][j] : 0;
    variables.back().coeff[2 * j + 1] = from.radix[j];
  }
  Domain domain(2 * n);
  for (std::size_t j = 0; j < n; ++j) {
    Linear digit{0, std::vector<std::int64_t>(2 * n, 0)};
    digit.coeff[2 * j] = 1;
    domain.add({digit, from.digits[j], "digit"});
  }
  for (const Row &row : from.reduced.rows)
    domain.add(condition_of(row, variables));
  DigitBox box;
  std::vector<Linear> kept(n);
  for (std::size_t j = 0; j < n; ++j)
    kept[j].constant = variables[j].constant;
  for (std::size_t u = 0; u < 2 * n; ++u) {
    const Bounds range = *domain.range(u);
    for (std::size_t j = 0; j < n; ++j) {
      kept[j].constant += variables[j].coeff[u] * *range.lo;
      if (*range.lo < *range.hi)
        kept[j].coeff.push_back(variables[j].coeff[u]);
    }
    const std::size_t part = u % 2 == 0 || from.digits[u / 2] == 1 ? 0 : 1;
    if (*range.lo < *range.hi)
      box.indices.push_back({fmt::format("v{}_{}", u / 2, part), *range.hi - *range.lo + 1});
  }
  box.variables = std::move(kept);
  return box;
}

std::string form_text(const Linear &form, const std::vector<Index> &indices) {
  Affine affine;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    affine.coeff.emplace_back(form.coeff[i]);
    names.push_back(indices[i].name);
  }
  affine.constant = Rational(form.constant);
  return program::to_text(affine, names);
}

// The ends of the row's interval that the box leaves open: -form <= 0, form <= bound - 1.
std::string open_ends(const Condition &condition, const std::vector<Index> &indices) {
  std::string text;
  const Interval range = range_of(condition.form, indices);
  const auto line = [&](std::int64_t sign, std::int64_t most) {
    Linear form{0, condition.form.coeff};
    for (std::int64_t &value : form.coeff)
      value *= sign;
    text += fmt::format("where {} <= {}\n", form_text(form, indices), most);
  };
  if (range.lo < 0)
    line(-1, condition.form.constant);
  if (range.hi >= condition.bound)
    line(1, condition.bound - 1 - condition.form.constant);
  return text;
}

} // namespace

Linear Defracted::multiples(std::size_t j) const {
  Linear form{lattice.offset[j], {}};
  for (const std::vector<std::int64_t> &column : lattice.basis)
    form.coeff.push_back(column[j]);
  return form;
}

Linear substitute(const Affine &form, std::span<const Linear> variables, std::int64_t scale) {
  const std::size_t count = variables.empty() ? 0 : variables.front().coeff.size();
  Rational constant = form.constant * Rational(scale);
  std::vector<Rational> coeff(count, Rational(0));
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const Rational factor = form.coeff[v] * Rational(scale);
    if (factor.is_zero())
      continue;
    constant = constant + factor * Rational(variables[v].constant);
    for (std::size_t i = 0; i < count; ++i)
      coeff[i] = coeff[i] + factor * Rational(variables[v].coeff[i]);
  }
  Linear result;
  TILEFUSE_CHECK(constant.is_integer(), "a subscript off the integers");
  result.constant = narrow(constant.num());
  for (const Rational &value : coeff) {
    TILEFUSE_CHECK(value.is_integer(), "a subscript off the integers");
    result.coeff.push_back(narrow(value.num()));
  }
  return result;
}

Condition condition_of(const Row &row, std::span<const Linear> variables) {
  const std::int64_t scale = row.is_subscript ? 1 : denominator(row.form);
  return {substitute(row.form, variables, scale), checked_mul(row.bound, scale), row.name};
}

Defracted defract(Reduced reduced) {
  Defracted result;
  const std::size_t n = reduced.names.size();
  const std::optional<Lattice> lattice = integral_points(integral_forms(reduced), n);
  if (!lattice)
    fail_fractional(reduced);
  result.reduced = std::move(reduced);
  result.lattice = *lattice;
  std::vector<Linear> variables;
  for (std::size_t j = 0; j < n; ++j) {
    result.radix.push_back(period(*lattice, j));
    result.digits.push_back(result.radix[j] / lattice->basis[j][j]);
    variables.push_back(result.multiples(j));
  }
  result.domain = Domain(n);
  for (const Row &row : result.reduced.rows)
    result.domain.add(condition_of(row, variables));
  if (result.domain.is_empty())
    throw Error(ErrorCode::Shape, fmt::format("nothing is computed: no point satisfies {}",
                                              fmt::join(result.domain.conflict(), " and ")));
  return result;
}

std::string to_text(const Defracted &defracted) {
  const DigitBox box = digit_box(defracted);
  std::string text = "index";
  for (std::size_t i = 0; i < box.indices.size(); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", box.indices[i].name, box.indices[i].extent);
  text += "\n";
  std::string open;
  for (const Row &row : defracted.reduced.rows) {
    const Condition condition = condition_of(row, box.variables);
    if (row.is_subscript)
      text += fmt::format("{} : {}\n", form_text(condition.form, box.indices), row.bound);
    open += open_ends(condition, box.indices);
  }
  return text + open;
}

} // namespace tilefuse::nest
