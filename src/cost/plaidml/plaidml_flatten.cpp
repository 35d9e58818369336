// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_flatten.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten.h"
#include "nest/integer/bounds.h"
#include "nest/integer/checked.h"

namespace tilefuse::cost::plaidml {
namespace {

using nest::Bounds;
using nest::checked_add;
using nest::checked_mul;
using nest::Linear;
using nest::Nest;
using nest::Operand;

// The operands of a nest, the result first.
std::vector<const Operand *> operands_of(const Nest &nest) {
  std::vector<const Operand *> operands = {&nest.out};
  for (const Operand &input : nest.inputs)
    operands.push_back(&input);
  return operands;
}

std::vector<nest::Condition> conditions_of(const Nest &nest) {
  std::vector<nest::Condition> conditions;
  for (const Operand *operand : operands_of(nest))
    for (const nest::Dim &dim : operand->dims)
      conditions.push_back({dim.at, dim.size, "a subscript"});
  for (const nest::Constraint &constraint : nest.constraints)
    conditions.push_back({constraint.expr, constraint.bound, "a constraint"});
  return conditions;
}

// A nest on its way to a table: which of its indices become columns, and where each begins.
class Flattening {
public:
  Flattening(const Nest &nest, const std::vector<std::string> &names) : nest_(nest) {
    for (const Operand *operand : operands_of(nest))
      accesses_.push_back({operand, names[at(operand->slot)]});
  }

  // False where no point takes part.
  bool find_box() {
    nest::Domain domain(nest_.indices.size());
    for (std::size_t i = 0; i < nest_.indices.size(); ++i) {
      Linear index{0, std::vector<std::int64_t>(nest_.indices.size(), 0)};
      index.coeff[i] = 1;
      domain.add({std::move(index), nest_.indices[i].extent, nest_.indices[i].name});
    }
    for (const nest::Condition &condition : conditions_of(nest_))
      domain.add(condition);
    if (domain.is_empty())
      return false;
    for (std::size_t i = 0; i < nest_.indices.size(); ++i)
      box_.push_back(*domain.range(i));
    for (std::size_t i = 0; i < box_.size(); ++i)
      if (*box_[i].lo != *box_[i].hi && is_used(i))
        kept_.push_back(i);
    std::sort(kept_.begin(), kept_.end(), [&](std::size_t a, std::size_t b) {
      return nest_.indices[a].name < nest_.indices[b].name;
    });
    return true;
  }

  Flattened build() const {
    Flattened result;
    for (const std::size_t i : kept_) {
      result.flat.names.push_back(nest_.indices[i].name);
      result.flat.ranges.push_back(*box_[i].hi - *box_[i].lo + 1);
    }
    for (const auto &[operand, name] : accesses_)
      result.flat.accesses.push_back(access(*operand, name));
    for (const nest::Dim &dim : nest_.out.dims)
      result.out.push_back(shifted(dim.at).coeff);
    result.flat.limits = limits(result.flat.ranges);
    return result;
  }

private:
  bool is_used(std::size_t i) const {
    return std::any_of(accesses_.begin(), accesses_.end(), [&](const auto &access) {
      const std::vector<nest::Dim> &dims = access.first->dims;
      return std::any_of(dims.begin(), dims.end(),
                         [&](const nest::Dim &dim) { return dim.at.coeff[i] != 0; });
    });
  }

  // In the kept indices, each counted from 0.
  Linear shifted(const Linear &form) const {
    Linear result{form.constant, {}};
    for (std::size_t i = 0; i < form.coeff.size(); ++i)
      result.constant = checked_add(result.constant, checked_mul(form.coeff[i], *box_[i].lo));
    for (const std::size_t i : kept_)
      result.coeff.push_back(form.coeff[i]);
    return result;
  }

  Access access(const Operand &operand, const std::string &name) const {
    const nest::Slot &slot = nest_.slots[operand.slot];
    Linear flat = shifted(nest::flat(operand, nest_.indices.size()));
    return {.name = name,
            .element_bytes = size_bytes(slot.type),
            .offset = flat.constant,
            .size = slot.elems,
            .strides = std::move(flat.coeff)};
  }

  // Parallel conditions joined into lowest <= form <= highest, then the sides that can fail.
  std::vector<Limit> limits(const std::vector<std::int64_t> &ranges) const;

  const Nest &nest_;
  std::vector<std::pair<const Operand *, std::string>> accesses_;
  std::vector<Bounds> box_;
  std::vector<std::size_t> kept_;
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The coefficients without common factor, the first of them positive; the factor taken out.
std::int64_t make_primitive(std::vector<std::int64_t> &coeff) {
  std::int64_t factor = 0;
  for (const std::int64_t value : coeff)
    factor = std::gcd(factor, value);
  const auto first =
      std::find_if(coeff.begin(), coeff.end(), [](std::int64_t v) { return v != 0; });
  if (first != coeff.end() && *first < 0)
    factor = -factor;
  for (std::int64_t &value : coeff)
    value /= factor == 0 ? 1 : factor;
  return factor;
}

// Largest value of the form over indices in [0, range).
std::int64_t highest(const std::vector<std::int64_t> &coeff,
                     const std::vector<std::int64_t> &ranges) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < coeff.size(); ++i)
    if (coeff[i] > 0)
      sum = checked_add(sum, checked_mul(coeff[i], ranges[i] - 1));
  return sum;
}

std::vector<Limit> Flattening::limits(const std::vector<std::int64_t> &ranges) const {
  std::map<std::vector<std::int64_t>, std::pair<std::int64_t, std::int64_t>> sides;
  for (const nest::Condition &condition : conditions_of(nest_)) {
    Linear form = shifted(condition.form);
    const std::int64_t factor = make_primitive(form.coeff);
    if (factor == 0)
      continue;
    // factor * x + constant in [0, bound)
    std::int64_t low = -form.constant;
    std::int64_t high = condition.bound - 1 - form.constant;
    const std::int64_t size = std::abs(factor);
    if (factor < 0)
      std::tie(low, high) = std::make_pair(-high, -low);
    low = -floor_div(-low, size);
    high = floor_div(high, size);
    const auto [side, is_new] = sides.emplace(form.coeff, std::make_pair(low, high));
    side->second.first = std::max(side->second.first, low);
    side->second.second = std::min(side->second.second, high);
  }
  std::vector<Limit> result;
  for (const auto &[coeff, side] : sides) {
    std::vector<std::int64_t> negative = coeff;
    for (std::int64_t &value : negative)
      value = -value;
    if (highest(negative, ranges) > -side.first)
      result.push_back({std::move(negative), -side.first});
    if (highest(coeff, ranges) > side.second)
      result.push_back({coeff, side.second});
  }
  return result;
}

} // namespace

program::StoredProgram row_major_storage(const program::Program &program, const OpList &list) {
  program::StoredProgram stored;
  stored.program = program;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const program::Tensor &tensor = program.tensors[t];
    stored.program.tensors[t].name = list.values[t].name;
    stored.windows.push_back(
        {program::BufferId{static_cast<int>(t)}, 0, program::row_major(tensor.shape)});
    stored.buffers.push_back({tensor.type, program::elems(tensor.shape), tensor.role});
  }
  return stored;
}

std::vector<Flattened> flatten_contraction(const program::StoredProgram &stored,
                                           const program::Statement &statement) {
  program::Statement without_init = statement;
  std::get<program::Contraction>(without_init.body).init.reset();
  std::vector<Flattened> result;
  for (const nest::FlatStatement &flat : nest::flatten(stored, without_init)) {
    if (flat.nest.inputs.empty())
      continue; // zeros between elements, which are cleared first
    std::vector<std::string> names;
    for (const program::BufferId buffer : flat.buffers)
      names.push_back(stored.program.tensors[at(buffer)].name);
    Flattening flattening(flat.nest, names);
    if (flattening.find_box())
      result.push_back(flattening.build());
  }
  return result;
}

Flattened flatten_elementwise(const Value &value) {
  const std::size_t rank = value.shape.size();
  Flattened result;
  for (std::size_t d = 0; d < rank; ++d) {
    result.flat.names.push_back(fmt::format("i{}", d + 1));
    result.out.emplace_back(rank, 0);
    result.out.back()[d] = 1;
  }
  result.flat.ranges = value.shape;
  result.flat.is_contraction = false;
  result.flat.accesses.push_back({.name = value.name,
                                  .element_bytes = size_bytes(value.type),
                                  .size = program::elems(value.shape),
                                  .strides = program::row_major(value.shape)});
  return result;
}

Access post_input(const Flattened &kernel, const Value &value, const program::Shape &result) {
  const bool same = program::elems(value.shape) == program::elems(result);
  const program::Shape &shape = same ? result : value.shape;
  const program::Shape steps = program::row_major(shape);
  const std::size_t aligned = kernel.out.size() - shape.size();
  Access access{.name = value.name,
                .element_bytes = size_bytes(value.type),
                .size = program::elems(shape),
                .strides = std::vector<std::int64_t>(kernel.flat.rank(), 0)};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 && result[aligned + d] != 1)
      continue;
    for (std::size_t i = 0; i < access.strides.size(); ++i)
      access.strides[i] += kernel.out[aligned + d][i] * steps[d];
  }
  return access;
}

bool needs_zero(const Flat &flat) {
  const Access &out = flat.accesses[0];
  std::vector<std::pair<std::int64_t, std::int64_t>> steps; // stride, range
  for (std::size_t i = 0; i < flat.rank(); ++i)
    if (flat.is_output(i))
      steps.emplace_back(out.strides[i], flat.ranges[i]);
  const auto of_output_alone = [&](const Limit &limit) {
    for (std::size_t i = 0; i < flat.rank(); ++i)
      if (limit.coeff[i] != 0 && !flat.is_output(i))
        return false;
    return true;
  };
  if (out.offset != 0 || std::any_of(flat.limits.begin(), flat.limits.end(), of_output_alone))
    return true;
  std::sort(steps.begin(), steps.end());
  std::int64_t written = 1;
  for (const auto &[stride, range] : steps) {
    if (stride != written)
      return true;
    written *= range;
  }
  return written != out.size;
}

} // namespace tilefuse::cost::plaidml
