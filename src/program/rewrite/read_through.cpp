// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/read_through.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// So many neighbouring elements are worth a step to where they lie.
constexpr std::int64_t kRow = 16;

template <class Visit> void each_form(Contraction &body, const Visit &visit) {
  for (Affine &form : body.out)
    visit(form);
  for (Access &access : body.in)
    for (Affine &form : access.subscripts)
      visit(form);
  for (Constraint &constraint : body.constraints)
    visit(constraint.expr);
}

// A form over `dims` with a form in the place of each.
Affine composed(const Affine &form, const std::vector<Affine> &dims, std::size_t indices) {
  Affine result{std::vector<Rational>(indices), form.constant};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (form.coeff[d].is_zero())
      continue;
    for (std::size_t i = 0; i < indices; ++i)
      result.coeff[i] = result.coeff[i] + form.coeff[d] * dims[d].coeff[i];
    result.constant = result.constant + form.coeff[d] * dims[d].constant;
  }
  return result;
}

Shape picked(const Shape &factors, const std::vector<std::size_t> &numbers) {
  Shape result;
  for (const std::size_t k : numbers)
    result.push_back(factors[k]);
  return result;
}

} // namespace

ReadThrough::ReadThrough(const Program &program, Contraction body, Shape shape)
    : program_(&program), body_(std::move(body)), shape_(std::move(shape)) {
  each_form(body_, [&](Affine &form) { form.coeff.resize(body_.indices.size()); });
  for (const Access &access : body_.in)
    operand_shapes_.push_back(program[access.tensor].shape);
  extents_ = extents();
  for (std::size_t i = 0; i < body_.indices.size(); ++i)
    origins_.push_back(i);
}

// Of indices that are a subscript, or a condition, by themselves.
Extents ReadThrough::extents() const {
  Extents result(body_.indices.size(), 0);
  const auto bound = [&](const Affine &form, std::int64_t size) {
    const int index = plain_index(form);
    if (index >= 0 && (result[at(index)] == 0 || size < result[at(index)]))
      result[at(index)] = size;
  };
  for (std::size_t d = 0; d < shape_.size(); ++d)
    bound(body_.out[d], shape_[d]);
  for (std::size_t k = 0; k < body_.in.size(); ++k)
    for (std::size_t d = 0; d < body_.in[k].subscripts.size(); ++d)
      bound(body_.in[k].subscripts[d], operand_shapes_[k][d]);
  for (const Constraint &constraint : body_.constraints)
    bound(constraint.expr, constraint.bound);
  return result;
}

bool ReadThrough::is_output(std::size_t index) const {
  return uses(body_.out, static_cast<int>(index));
}

bool ReadThrough::read_before(std::size_t k, const Movement &movement) {
  const bool done = movement.is_view() ? read_before_view(k, (*program_)[movement.from].shape)
                                       : read_before_gather(k, *movement.subscripts);
  if (done) {
    body_.in[k].tensor = movement.from;
    operand_shapes_[k] = (*program_)[movement.from].shape;
  }
  return done;
}

bool ReadThrough::read_before_view(std::size_t k, const Shape &before) {
  const std::optional<Regrouping> groups = regroup(operand_shapes_[k], before);
  if (!groups)
    return false;
  std::vector<Affine> digit(groups->factors.size());
  for (std::size_t d = 0; d < groups->a.size(); ++d) {
    const std::vector<std::size_t> &factors = groups->a[d];
    const Affine form = body_.in[k].subscripts[d];
    const bool stays = factors.size() == 1 &&
                       std::find(groups->b.begin(), groups->b.end(), factors) != groups->b.end();
    if (!stays && !is_within(form, operand_shapes_[k][d], extents_))
      return false;
    if (factors.empty())
      continue;
    const Shape sizes = picked(groups->factors, factors);
    const std::optional<std::vector<Affine>> parts = digits(form, sizes, extents_);
    if (!parts) {
      const int index = plain_index(form);
      return index >= 0 && split(at(index), sizes) && read_before_view(k, before);
    }
    for (std::size_t f = 0; f < factors.size(); ++f)
      digit[factors[f]] = (*parts)[f];
  }
  std::vector<Affine> subscripts;
  for (const std::vector<std::size_t> &factors : groups->b) {
    std::vector<Affine> parts;
    for (const std::size_t f : factors)
      parts.push_back(digit[f]);
    subscripts.push_back(factors.empty() ? Affine{std::vector<Rational>(body_.indices.size()), {}}
                                         : number_of(parts, picked(groups->factors, factors)));
  }
  body_.in[k].subscripts = std::move(subscripts);
  return true;
}

bool ReadThrough::read_before_gather(std::size_t k, const std::vector<Affine> &subscripts) {
  const std::vector<Affine> dims = body_.in[k].subscripts;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    // A dimension that is one of the other tensor as it is keeps what is beyond it out.
    const bool stays = std::any_of(subscripts.begin(), subscripts.end(),
                                   [&](const Affine &form) { return is_index(form, d); });
    if (!stays && !is_within(dims[d], operand_shapes_[k][d], extents_))
      return false;
  }
  std::vector<Affine> before;
  for (const Affine &form : subscripts)
    before.push_back(composed(form, dims, body_.indices.size()));
  body_.in[k].subscripts = std::move(before);
  return true;
}

// index = number of its parts, which take its place. A result's dimension that it is becomes
// several.
bool ReadThrough::split(std::size_t index, const Shape &factors) {
  std::int64_t extent = 1;
  for (const std::int64_t factor : factors)
    extent *= factor;
  if (extents_[index] != extent)
    return false;
  const std::string name = body_.indices[index];
  std::vector<std::string> names;
  for (std::size_t f = 0; f < factors.size(); ++f)
    names.push_back(fmt::format("{}_{}", name, f));
  const auto place = [&](auto &list) { return list.begin() + static_cast<std::ptrdiff_t>(index); };
  const auto replace = [&](auto &list, const auto &parts) {
    list.insert(list.erase(place(list)), parts.begin(), parts.end());
  };
  std::vector<bool> is_split;
  for (std::size_t d = 0; d < body_.out.size(); ++d)
    is_split.push_back(is_index(body_.out[d], index) && shape_[d] == extent);
  each_form(body_, [&](Affine &form) {
    std::vector<Rational> parts(factors.size());
    Rational step = form.coeff[index];
    for (std::size_t f = factors.size(); f-- > 0; step = step * Rational(factors[f]))
      parts[f] = step;
    replace(form.coeff, parts);
  });
  replace(body_.indices, names);
  replace(extents_, factors);
  replace(origins_, std::vector<std::size_t>(factors.size(), origins_[index]));
  for (std::size_t d = is_split.size(); d-- > 0;)
    if (is_split[d])
      split_result(d, index, factors);
  return true;
}

void ReadThrough::split_result(std::size_t d, std::size_t first, const Shape &factors) {
  const auto place = static_cast<std::ptrdiff_t>(d);
  std::vector<Affine> parts;
  for (std::size_t f = 0; f < factors.size(); ++f)
    parts.push_back(index_form(static_cast<int>(first + f), body_.indices.size()));
  body_.out.insert(body_.out.erase(body_.out.begin() + place), parts.begin(), parts.end());
  shape_.insert(shape_.erase(shape_.begin() + place), factors.begin(), factors.end());
}

bool ReadThrough::is_regular(std::size_t k) const {
  const Access &access = body_.in[k];
  const Shape strides = row_major(operand_shapes_[k]);
  const auto step = [&](std::size_t index) {
    Rational sum;
    for (std::size_t d = 0; d < strides.size(); ++d)
      sum = sum + access.subscripts[d].coeff[index] * Rational(strides[d]);
    return sum;
  };
  // Channels of activations, which lie last where a statistic of them is wanted.
  const auto is_channel = [&](std::size_t index) {
    return body_.in.size() == 1 && access.subscripts.size() > 2 &&
           is_index(access.subscripts[1], index);
  };
  bool has_rows = false, sums_many = false;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    has_rows |= extents_[i] >= kRow && (step(i) == Rational(1) || is_channel(i));
    sums_many |= extents_[i] >= kRow && !is_output(i) && !step(i).is_zero();
  }
  for (std::size_t i = 1; i < origins_.size(); ++i)
    if (origins_[i] == origins_[i - 1] && !(is_output(i) && has_rows && sums_many) &&
        step(i - 1) != step(i) * Rational(extents_[i]))
      return false;
  return true;
}

// Splits the dimension of the operand in which an index steps singly, so that it is a subscript.
bool ReadThrough::split_dimension(std::size_t k, std::size_t index) {
  Shape &shape = operand_shapes_[k];
  std::vector<Affine> &subscripts = body_.in[k].subscripts;
  const std::int64_t extent = extents_[index];
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (subscripts[d].coeff[index] != Rational(1) || shape[d] % extent != 0)
      continue;
    const auto parts = digits(subscripts[d], {shape[d] / extent, extent}, extents_);
    if (!parts || !is_index((*parts)[1], index))
      continue;
    const auto behind = static_cast<std::ptrdiff_t>(d) + 1;
    shape[d] /= extent;
    shape.insert(shape.begin() + behind, extent);
    subscripts[d] = (*parts)[0];
    subscripts.insert(subscripts.begin() + behind, (*parts)[1]);
    return true;
  }
  return false;
}

void ReadThrough::bound_indices() {
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (extents_[i] == 0 || extents()[i] == extents_[i])
      continue;
    bool is_bound = false;
    for (std::size_t k = 0; k < body_.in.size() && !is_bound; ++k)
      is_bound = split_dimension(k, i);
    if (!is_bound)
      body_.constraints.push_back({index_form(static_cast<int>(i), extents_.size()), extents_[i]});
  }
}

bool ReadThrough::write_as(const Shape &factors, const std::vector<std::size_t> &order) {
  const std::optional<Regrouping> groups = regroup(shape_, factors);
  if (!groups || groups->factors != factors)
    return false;
  for (std::size_t d = groups->a.size(); d-- > 0;) {
    const std::vector<std::size_t> &parts = groups->a[d];
    const int index = plain_index(body_.out[d]);
    if (parts.empty()) {
      if (index < 0 && !is_within(body_.out[d], 1, extents_))
        return false;
      body_.out.erase(body_.out.begin() + static_cast<std::ptrdiff_t>(d));
      shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(d));
      if (index >= 0)
        set_to_zero(at(index));
    } else if (parts.size() > 1 && (index < 0 || !split(at(index), picked(factors, parts)))) {
      return false;
    }
  }
  if (shape_ != factors)
    return false;
  const std::vector<Affine> out = std::move(body_.out);
  body_.out.clear();
  for (std::size_t e = 0; e < order.size(); ++e) {
    body_.out.push_back(out[order[e]]);
    shape_[e] = factors[order[e]];
  }
  return true;
}

void ReadThrough::set_to_zero(std::size_t index) {
  const auto drop = [&](auto &list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  };
  each_form(body_, [&](Affine &form) { drop(form.coeff); });
  drop(body_.indices);
  drop(extents_);
  drop(origins_);
}

bool ReadThrough::drop_idle_indices() {
  bool has_dropped = false;
  for (std::size_t d = body_.out.size(); d-- > 0;) {
    const int index = plain_index(body_.out[d]);
    const auto reads = [&](const Access &access) { return uses(access.subscripts, index); };
    const auto limits = [&](const Constraint &each) { return uses(each.expr, at(index)); };
    if (index < 0 || shape_[d] != 1 || std::any_of(body_.in.begin(), body_.in.end(), reads) ||
        std::any_of(body_.constraints.begin(), body_.constraints.end(), limits))
      continue;
    body_.out.erase(body_.out.begin() + static_cast<std::ptrdiff_t>(d));
    shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(d));
    if (!uses(body_.out, index))
      set_to_zero(at(index));
    has_dropped = true;
  }
  return has_dropped;
}

} // namespace tilefuse::program
