// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/pieces.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/flatten/flat_statement.h"
#include "nest/integer/checked.h"
#include "target/dtype_traits.h"

namespace tilefuse::nest {
namespace {

using program::Agg;
using program::Comb;

constexpr std::size_t kMaxPieces = 1024;

std::int64_t extent_of(const Interval &range) { return range.hi - range.lo + 1; }

Linear unit(std::size_t count, std::size_t position) {
  Linear form{0, std::vector<std::int64_t>(count, 0)};
  form.coeff[position] = 1;
  return form;
}

// Steps `which` through the runs of every output variable; false after the last.
bool next_runs(std::vector<std::size_t> &which, const std::vector<std::vector<Run>> &runs) {
  for (std::size_t j = which.size(); j-- > 0;) {
    if (++which[j] < runs[j].size())
      return true;
    which[j] = 0;
  }
  return false;
}

bool is_guard(const Nest &nest, const Constraint &constraint) {
  for (const Operand &input : nest.inputs)
    for (const Dim &dim : input.dims)
      if (dim.at == constraint.expr && dim.size <= constraint.bound)
        return true;
  return false;
}

} // namespace

std::vector<FlatStatement> PieceBuilder::build(Cover cover) {
  if (has_dependent_results())
    cover = Cover::Reached;
  const Residues residues(defracted_, variable_ranges(cover));
  const std::vector<std::vector<Run>> &runs = residues.runs();
  std::vector<std::size_t> which(runs.size(), 0);
  std::vector<FlatStatement> flats;
  do {
    std::vector<Run> chosen;
    std::vector<std::int64_t> first;
    for (std::size_t j = 0; j < which.size(); ++j) {
      chosen.push_back(runs[j][which[j]]);
      first.push_back(chosen.back().first);
    }
    Space space = space_of(residues, chosen);
    if (residues.at(first).is_reached() && bound_reduced(space))
      emit(std::move(space), cover, flats);
    else if (cover != Cover::Reached)
      flats.push_back(filled(space));
    if (flats.size() > kMaxPieces)
      throw Error(ErrorCode::Limit, "the result falls into more than 1024 pieces");
  } while (next_runs(which, runs));
  return flats;
}

// Exact, of every variable. Those of the result's coordinates are what is to be covered.
std::vector<Interval> PieceBuilder::variable_ranges(Cover cover) const {
  const Reduced &reduced = defracted_.reduced;
  std::vector<Interval> ranges;
  for (std::size_t j = 0; j < reduced.names.size(); ++j) {
    if (j < reduced.outputs && cover == Cover::Whole) {
      ranges.push_back({0, reduced.rows[reduced.result_rows[j]].bound - 1});
      continue;
    }
    const Bounds range = *defracted_.domain.range(defracted_.multiples(j));
    TILEFUSE_CHECK(range.is_finite(), "an unbounded variable");
    ranges.push_back({*range.lo, *range.hi});
  }
  return ranges;
}

// Result subscripts that vary and follow from others, as those of a diagonal do.
bool PieceBuilder::has_dependent_results() const {
  const Reduced &reduced = defracted_.reduced;
  for (std::size_t r = 0; r < body_.out.size(); ++r) {
    const auto &coeff = reduced.rows[r].form.coeff;
    const bool varies =
        std::any_of(coeff.begin(), coeff.end(), [](const Rational &v) { return !v.is_zero(); });
    if (varies && std::find(reduced.result_rows.begin(), reduced.result_rows.end(), r) ==
                      reduced.result_rows.end())
      return true;
  }
  return false;
}

void PieceBuilder::add_output(Space &space, const Residues &residues, std::size_t j,
                              Run run) const {
  const Interval &range = residues.ranges()[j];
  const std::int64_t radix = defracted_.radix[j];
  const std::string &name = defracted_.reduced.names[j];
  const std::int64_t whole = (range.hi - range.lo - run.first + radix) / radix;
  space.variables[j].constant = range.lo + run.first;
  space.variables[j].coeff.push_back(radix);
  space.unknowns.push_back({name, {0, whole - 1}, true});
  if (run.count == 1)
    return;
  space.variables[j].coeff.push_back(1);
  space.unknowns.push_back({name + "_r", {0, run.count - 1}, true});
}

// The variable's taps in the first class of the runs, and how they move with the residues.
void PieceBuilder::add_reduced(Space &space, const Residues &residues, const std::vector<Run> &runs,
                               std::size_t k) const {
  std::vector<std::int64_t> at;
  for (const Run &run : runs)
    at.push_back(run.first);
  const std::int64_t first = residues.at(at).first[k];
  Linear &variable = space.variables[k];
  variable.constant = first;
  std::size_t unknown = 0;
  for (std::size_t j = 0; j < runs.size(); ++j, ++unknown) {
    if (runs[j].count == 1)
      continue;
    ++at[j];
    variable.coeff[++unknown] = residues.at(at).first[k] - first;
    --at[j];
  }
}

PieceBuilder::Space PieceBuilder::space_of(const Residues &residues,
                                           const std::vector<Run> &runs) const {
  const Reduced &reduced = defracted_.reduced;
  const std::size_t n = reduced.names.size();
  Space space;
  space.variables.resize(n);
  for (std::size_t j = 0; j < reduced.outputs; ++j) {
    space.variables[j].coeff.assign(space.unknowns.size(), 0);
    add_output(space, residues, j, runs[j]);
  }
  for (Linear &variable : space.variables)
    variable.coeff.resize(space.unknowns.size(), 0);
  for (std::size_t k = reduced.outputs; k < n; ++k) {
    add_reduced(space, residues, runs, k);
    for (std::size_t j = 0; j < n; ++j) {
      space.variables[j].coeff.push_back(j == k ? defracted_.radix[k] : 0);
      if (defracted_.digits[k] > 1)
        space.variables[j].coeff.push_back(j < k ? 0 : defracted_.lattice.basis[k][j]);
    }
    space.unknowns.push_back({reduced.names[k], {0, -1}, false});
    if (defracted_.digits[k] > 1)
      space.unknowns.push_back({reduced.names[k] + "_r", {0, defracted_.digits[k] - 1}, false});
  }
  return space;
}

// Exact ranges of the reduced unknowns while output unknowns keep theirs; false when no point is
// left. An unknown without a range yet has hi < lo.
bool PieceBuilder::bound_reduced(Space &space) const {
  const std::size_t count = space.unknowns.size();
  Domain domain(count);
  for (std::size_t u = 0; u < count; ++u) {
    const Interval &range = space.unknowns[u].range;
    Linear form = unit(count, u);
    form.constant = -range.lo;
    if (range.hi >= range.lo)
      domain.add({std::move(form), extent_of(range), space.unknowns[u].name});
  }
  for (const Row &row : defracted_.reduced.rows)
    domain.add(condition_of(row, space.variables));
  if (domain.is_empty())
    return false;
  for (std::size_t u = 0; u < count; ++u) {
    if (space.unknowns[u].is_output)
      continue;
    const std::optional<Bounds> range = domain.range(u);
    if (!range)
      return false;
    TILEFUSE_CHECK(range->is_finite(), "an unbounded part of a variable");
    space.unknowns[u].range = {*range->lo, *range->hi};
  }
  return true;
}

// Conditions on the unknowns, all from 0, that their box does not imply: those under which a point
// counts.
std::vector<Condition> PieceBuilder::conditions(const Space &space) const {
  std::vector<Index> indices;
  std::vector<Linear> variables = space.variables;
  for (std::size_t u = 0; u < space.unknowns.size(); ++u) {
    indices.push_back({space.unknowns[u].name, extent_of(space.unknowns[u].range)});
    for (Linear &variable : variables)
      variable.constant = checked_add(variable.constant,
                                      checked_mul(variable.coeff[u], space.unknowns[u].range.lo));
  }
  std::vector<Condition> open;
  for (const Row &row : defracted_.reduced.rows) {
    Condition condition = condition_of(row, variables);
    const Interval range = range_of(condition.form, indices);
    if (range.lo < 0 || range.hi >= condition.bound)
      open.push_back(std::move(condition));
  }
  return open;
}

void PieceBuilder::emit(Space space, Cover cover, std::vector<FlatStatement> &flats) const {
  check_assignment(space);
  const bool zero_start = body_.agg == Agg::Sum || body_.agg == Agg::Assign;
  if (cover != Cover::Reached && zero_start) {
    flats.push_back(computed(space, true));
    return;
  }
  std::vector<Index> indices;
  std::size_t outputs = 0;
  for (const Unknown &unknown : space.unknowns) {
    indices.push_back({unknown.name, extent_of(unknown.range)});
    outputs += unknown.is_output ? 1 : 0;
  }
  const std::optional<Reach> reach = find_reach(conditions(space), indices, outputs);
  if (cover != Cover::Reached && body_.agg != Agg::Product) {
    flats.push_back(computed(space, reach && reach->is_all()));
    return;
  }
  if (!reach)
    throw Error(ErrorCode::Unsupported,
                "too many elements to tell those that are written from those that are not");
  for (const IndexBox &box : reach->reached)
    emit_box(space, box, true, flats);
  if (cover != Cover::Reached)
    for (const IndexBox &box : reach->unreached)
      emit_box(space, box, false, flats);
}

// The part of the space in a box of its output unknowns.
void PieceBuilder::emit_box(Space space, const IndexBox &box, bool is_reached,
                            std::vector<FlatStatement> &flats) const {
  for (std::size_t u = 0; u < box.size(); ++u) {
    const std::int64_t lo = space.unknowns[u].range.lo;
    space.unknowns[u].range = {lo + box[u].lo, lo + box[u].hi};
  }
  if (!is_reached) {
    flats.push_back(filled(space));
    return;
  }
  TILEFUSE_CHECK(bound_reduced(space), "a box without points");
  flats.push_back(computed(space, true));
}

// An assignment reduces over nothing: a reduced unknown of several points writes elements twice.
void PieceBuilder::check_assignment(const Space &space) const {
  if (body_.agg != Agg::Assign)
    return;
  for (const Unknown &unknown : space.unknowns)
    if (!unknown.is_output && extent_of(unknown.range) > 1)
      throw Error(ErrorCode::Shape,
                  fmt::format("index '{}' is not in the result, so that elements are assigned "
                              "repeatedly",
                              unknown.name));
}

// Adds the unknowns of more than one point as indices; the variables over these.
std::vector<Linear> PieceBuilder::add_indices(FlatBuilder &builder, const Space &space) const {
  std::vector<Linear> variables;
  for (const Linear &variable : space.variables)
    variables.push_back({variable.constant, {}});
  for (std::size_t u = 0; u < space.unknowns.size(); ++u) {
    const Unknown &unknown = space.unknowns[u];
    const bool varies = extent_of(unknown.range) > 1;
    if (varies) {
      builder.add_index(unknown.name, extent_of(unknown.range));
      builder.nest().output_indices += unknown.is_output ? 1 : 0;
    }
    for (std::size_t j = 0; j < variables.size(); ++j) {
      const std::int64_t coeff = space.variables[j].coeff[u];
      variables[j].constant =
          checked_add(variables[j].constant, checked_mul(coeff, unknown.range.lo));
      if (varies)
        variables[j].coeff.push_back(coeff);
    }
  }
  return variables;
}

Operand PieceBuilder::operand(FlatBuilder &builder, program::TensorId tensor, std::size_t first_row,
                              const std::vector<Linear> &variables) const {
  Operand result = builder.operand(tensor);
  const program::Shape &shape = stored_.program[tensor].shape;
  const program::Window &window = stored_.windows[at(tensor)];
  const std::size_t count = builder.nest().indices.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Linear at = substitute(defracted_.reduced.rows[first_row + d].form, variables, 1);
    at.coeff.resize(count, 0);
    Dim dim{.at = std::move(at), .size = shape[d], .stride = window.strides[d]};
    const Interval range = range_of(dim.at, builder.nest().indices);
    dim.guarded = range.lo < 0 || range.hi >= dim.size;
    result.dims.push_back(std::move(dim));
  }
  return result;
}

// Constraints that neither the box nor an operand's range implies.
void PieceBuilder::add_constraints(Nest &nest, std::size_t first_row,
                                   const std::vector<Linear> &variables) const {
  for (std::size_t r = first_row; r < defracted_.reduced.rows.size(); ++r) {
    Condition condition = condition_of(defracted_.reduced.rows[r], variables);
    condition.form.coeff.resize(nest.indices.size(), 0);
    const Constraint constraint{std::move(condition.form), condition.bound};
    const Interval range = range_of(constraint.expr, nest.indices);
    const bool implied = range.lo >= 0 && range.hi < constraint.bound;
    if (!implied && !is_guard(nest, constraint))
      nest.constraints.push_back(constraint);
  }
}

DType PieceBuilder::value_type() const {
  const auto type_of = [&](std::size_t k) { return stored_.program[body_.in[k].tensor].type; };
  switch (body_.comb) {
  case Comb::None:
    return type_of(0);
  case Comb::Pick:
    return body_.in.size() == picked_.size() + 1 ? type_of(0)
                                                 : program::promote(type_of(0), type_of(1));
  case Comb::Mul:
  case Comb::Add:
    return program::promote(type_of(0), type_of(1));
  case Comb::Equal:
    return stored_.program[statement_.out].type;
  case Comb::Select:
    return type_of(2);
  case Comb::Term:
    return body_.term.type;
  }
  internal_error("unknown combination", __FILE__, __LINE__);
}

// Of the accumulator. A maximum or minimum of narrow integers needs no more than their type, unless
// that of no points is to be told apart.
DType PieceBuilder::kept_type(bool reaches_all) const {
  const DType type = value_type();
  const bool picks_one = body_.agg == program::Agg::Max || body_.agg == program::Agg::Min;
  return picks_one && body_.comb == Comb::None && is_narrow(type) && reaches_all
             ? type
             : accumulator_type(type);
}

// A maximum or minimum over no points is 0.
program::Expr PieceBuilder::post(const Nest &nest, bool reaches_all) const {
  program::Expr value = program::acc(nest.acc_type);
  if (!reaches_all) {
    const program::Expr start =
        program::constant(initial_value(body_.agg, nest.acc_type), nest.acc_type);
    value = program::call(ScalarOp::Select, {program::call(ScalarOp::Eq, {value, start}),
                                             program::constant(0, nest.acc_type), value});
  }
  return program::cast(std::move(value), stored_.program[statement_.out].type);
}

FlatStatement PieceBuilder::computed(const Space &space, bool reaches_all) const {
  FlatBuilder builder(stored_);
  Nest &nest = builder.nest();
  const std::vector<Linear> variables = add_indices(builder, space);
  nest.agg = body_.agg;
  nest.comb = body_.comb;
  nest.term = body_.term;
  std::size_t row = body_.out.size();
  for (const program::Access &access : body_.in) {
    nest.inputs.push_back(operand(builder, access.tensor, row, variables));
    row += access.subscripts.size();
  }
  const std::size_t values = body_.in.size() - picked_.size();
  for (std::size_t j = 0; j < picked_.size(); ++j) {
    Dim &dim = nest.inputs[0].dims[picked_[j]];
    dim.by = static_cast<int>(values + j);
    dim.guarded = true;
  }
  nest.out = operand(builder, statement_.out, 0, variables);
  nest.acc_type = kept_type(reaches_all);
  nest.tf32 = stored_.program.tf32 && multiplies_f32(nest);
  add_constraints(nest, row, variables);
  nest.post = post(nest, reaches_all);
  nest.name = stem(nest);
  return builder.finish(statement_.origin);
}

// Zeros in every element of the space's output unknowns.
FlatStatement PieceBuilder::filled(const Space &space) const {
  Space outputs = space;
  std::erase_if(outputs.unknowns, [](const Unknown &unknown) { return !unknown.is_output; });
  for (Linear &variable : outputs.variables)
    variable.coeff.resize(outputs.unknowns.size());
  FlatBuilder builder(stored_);
  Nest &nest = builder.nest();
  nest.out = operand(builder, statement_.out, 0, add_indices(builder, outputs));
  nest.acc_type = stored_.program[statement_.out].type;
  nest.post = program::constant(0, nest.acc_type);
  nest.name = stem(nest);
  return builder.finish(statement_.origin);
}

} // namespace tilefuse::nest
