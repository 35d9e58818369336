// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "nest/bounds.h"
#include "nest/checked.h"
#include "nest/flat_builder.h"
#include "nest/passes.h"

namespace tilefuse::nest {
namespace {

using program::Affine;
using program::Agg;
using program::Comb;
using program::Contraction;
using program::Map;
using program::Statement;
using program::StoredProgram;
using program::TensorId;

constexpr std::int64_t kMaxCoefficient = std::int64_t{1} << 40;

// A contraction on its way to a nest: subscripts in its own indices, then in those of the nest.
class Flattening {
public:
  Flattening(const StoredProgram &stored, const Statement &statement, const Contraction &body)
      : stored_(stored), statement_(statement), body_(body) {}

  std::vector<FlatStatement> run() {
    read_subscripts();
    const std::vector<FlatStatement> copy = copy_of_init();
    if (!find_box())
      return copy;
    choose_indices();
    FlatStatement flat = build();
    if (copy.empty() || fills_result(flat.nest))
      return {std::move(flat)};
    return {copy.front(), std::move(flat)};
  }

private:
  const program::Shape &shape_of(TensorId id) const { return stored_.program[id].shape; }

  [[noreturn]] void fail(ErrorCode code, const std::string &message) const {
    throw Error(code, message, statement_.origin);
  }

  Linear to_linear(const Affine &affine, std::string_view what) const {
    const auto whole = [&](const Rational &value) {
      if (!value.is_integer())
        fail(ErrorCode::Unsupported,
             fmt::format("{} has the fractional term {}; only whole numbers are supported", what,
                         to_string(value)));
      if (value.num() >= kMaxCoefficient || value.num() <= -kMaxCoefficient)
        fail(ErrorCode::Limit, fmt::format("{} has a number past 2^40", what));
      return value.num();
    };
    Linear form{whole(affine.constant), {}};
    for (const Rational &value : affine.coeff)
      form.coeff.push_back(whole(value));
    form.coeff.resize(body_.indices.size(), 0);
    return form;
  }

  void add_subscripts(const std::vector<Affine> &subscripts, TensorId tensor,
                      std::vector<Linear> &into, std::string_view what) {
    const program::Shape &shape = shape_of(tensor);
    if (subscripts.size() != shape.size())
      fail(ErrorCode::Shape,
           fmt::format("{} subscripts for a tensor of rank {}", subscripts.size(), shape.size()));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      into.push_back(to_linear(subscripts[d], what));
      conditions_.push_back({into.back(), shape[d]});
    }
  }

  void read_subscripts() {
    if (body_.in.size() != (body_.comb == Comb::None ? 1U : 2U))
      fail(ErrorCode::Shape, "a contraction's operands do not match its combination");
    add_subscripts(body_.out, statement_.out, out_, "a result subscript");
    inputs_.resize(body_.in.size());
    for (std::size_t k = 0; k < body_.in.size(); ++k)
      add_subscripts(body_.in[k].subscripts, body_.in[k].tensor, inputs_[k],
                     "an operand's subscript");
    for (const program::Constraint &constraint : body_.constraints) {
      constraints_.push_back({to_linear(constraint.expr, "a constraint"), constraint.bound});
      conditions_.push_back({constraints_.back().expr, constraint.bound});
    }
  }

  bool in_result(std::size_t index) const {
    return std::any_of(out_.begin(), out_.end(),
                       [&](const Linear &at) { return at.coeff[index] != 0; });
  }

  // The box of every index; false when no point is left. Result indices that conditions on one
  // index bound stay as wide as these make them, so that padding leaves the result's box whole;
  // results over an init must not be touched outside.
  bool find_box() {
    std::vector<Bounds> single(body_.indices.size());
    if (!narrow_box(single, conditions_, true))
      return false;
    box_ = single;
    if (!narrow_box(box_, conditions_, false))
      return false;
    for (std::size_t i = 0; i < box_.size(); ++i) {
      if (!box_[i].is_finite())
        fail(ErrorCode::Shape,
             fmt::format("index '{}' is not bounded by any subscript or constraint",
                         body_.indices[i]));
      if (single[i].is_finite() && in_result(i) && !body_.init)
        box_[i] = single[i];
    }
    return true;
  }

  bool is_point(std::size_t index) const { return *box_[index].lo == *box_[index].hi; }

  void take_indices_of(const Linear &at) {
    for (std::size_t i = 0; i < at.coeff.size(); ++i)
      if (at.coeff[i] != 0 && !is_point(i) &&
          std::find(kept_.begin(), kept_.end(), i) == kept_.end())
        kept_.push_back(i);
  }

  // Result indices in the order of the result's dimensions, then reduced ones in order of first
  // appearance.
  void choose_indices() {
    for (const Linear &at : out_) {
      take_indices_of(at);
      const auto varying = [&](std::size_t i) { return at.coeff[i] != 0 && !is_point(i); };
      int count = 0;
      for (std::size_t i = 0; i < at.coeff.size(); ++i)
        count += varying(i) ? 1 : 0;
      if (count > 1)
        fail(ErrorCode::Unsupported,
             "a result subscript with more than one index; split the dimension into one per index");
    }
    outputs_ = kept_.size();
    for (const std::vector<Linear> &input : inputs_)
      for (const Linear &at : input)
        take_indices_of(at);
    for (const Constraint &constraint : constraints_)
      take_indices_of(constraint.expr);
    for (std::size_t i = 0; i < box_.size(); ++i)
      if (!is_point(i) && std::find(kept_.begin(), kept_.end(), i) == kept_.end())
        kept_.push_back(i);
    if (body_.agg == Agg::Assign && kept_.size() > outputs_)
      fail(ErrorCode::Shape,
           fmt::format("index '{}' is not in the result, so that elements are assigned repeatedly",
                       body_.indices[kept_[outputs_]]));
  }

  // In the nest's indices, whose ranges start at 0.
  Linear shifted(const Linear &form) const {
    Linear out{form.constant, {}};
    for (std::size_t i = 0; i < form.coeff.size(); ++i)
      out.constant = checked_add(out.constant, checked_mul(form.coeff[i], *box_[i].lo));
    for (std::size_t i : kept_)
      out.coeff.push_back(form.coeff[i]);
    return out;
  }

  Operand operand(FlatBuilder &builder, TensorId tensor, const std::vector<Linear> &subscripts) {
    Operand result = builder.operand(tensor);
    const program::Window &window = stored_.windows[static_cast<std::size_t>(to_int(tensor))];
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      Dim dim{shifted(subscripts[d]), shape_of(tensor)[d], window.strides[d], false};
      const Interval at = range_of(dim.at, builder.nest().indices);
      dim.guarded = at.lo < 0 || at.hi >= dim.size;
      result.dims.push_back(std::move(dim));
    }
    return result;
  }

  static bool is_guard(const Nest &nest, const Constraint &constraint) {
    for (const Operand &input : nest.inputs)
      for (const Dim &dim : input.dims)
        if (dim.at == constraint.expr && dim.size <= constraint.bound)
          return true;
    return false;
  }

  void add_constraints(Nest &nest) const {
    for (const Constraint &given : constraints_) {
      const Constraint constraint{shifted(given.expr), given.bound};
      const Interval range = range_of(constraint.expr, nest.indices);
      const bool implied = range.lo >= 0 && range.hi < constraint.bound;
      if (!implied && !is_guard(nest, constraint))
        nest.constraints.push_back(constraint);
    }
  }

  FlatStatement build() {
    FlatBuilder builder(stored_);
    Nest &nest = builder.nest();
    for (std::size_t i : kept_) {
      const std::int64_t extent = checked_add(checked_add(*box_[i].hi, -*box_[i].lo), 1);
      builder.add_index(body_.indices[i], extent);
    }
    nest.output_indices = static_cast<int>(outputs_);
    nest.agg = body_.agg;
    nest.comb = body_.comb;
    program::Expr promoted = program::operand(0, stored_.program[body_.in[0].tensor].type);
    for (std::size_t k = 0; k < body_.in.size(); ++k) {
      nest.inputs.push_back(operand(builder, body_.in[k].tensor, inputs_[k]));
      program::Expr next = program::operand(0, stored_.program[body_.in[k].tensor].type);
      promoted = program::call(ScalarOp::Max, {promoted, std::move(next)});
    }
    nest.out = operand(builder, statement_.out, out_);
    nest.acc_type = accumulator_type(promoted.type);
    add_constraints(nest);
    nest.post = post(nest);
    nest.name = stem(nest);
    return builder.finish(statement_.origin);
  }

  // Points of the result's box that no point of the domain reaches keep the init, or 0.
  bool reaches_all(const Nest &nest) const {
    std::vector<Condition> conditions;
    for (const Constraint &constraint : nest.constraints)
      conditions.push_back({constraint.expr, constraint.bound});
    for (const Operand &input : nest.inputs)
      for (const Dim &dim : input.dims)
        if (dim.guarded)
          conditions.push_back({dim.at, dim.size});
    return conditions.empty() || covers_outputs(conditions, nest.indices, outputs_);
  }

  program::Expr post(const Nest &nest) const {
    program::Expr value = program::acc(nest.acc_type);
    const bool zero_start = body_.agg == Agg::Sum || body_.agg == Agg::Assign;
    if ((body_.init || !zero_start) && !reaches_all(nest)) {
      if (body_.init)
        fail(ErrorCode::Unsupported, "a result over an init with elements in between that are "
                                     "not written");
      if (body_.agg == Agg::Product)
        fail(ErrorCode::Unsupported, "a product over no points at some element of the result");
      const program::Expr start =
          program::constant(initial_value(body_.agg, nest.acc_type), nest.acc_type);
      value = program::call(ScalarOp::Select, {program::call(ScalarOp::Eq, {value, start}),
                                               program::constant(0, nest.acc_type), value});
    }
    return program::cast(std::move(value), stored_.program[statement_.out].type);
  }

  // Whether the nest writes every element of its tensor.
  bool fills_result(const Nest &nest) const {
    std::vector<bool> used(nest.indices.size(), false);
    for (const Dim &dim : nest.out.dims) {
      std::int64_t points = 1;
      for (std::size_t i = 0; i < dim.at.coeff.size(); ++i) {
        if (dim.at.coeff[i] == 0)
          continue;
        if (used[i])
          return false;
        used[i] = true;
        points = nest.indices[i].extent;
      }
      if (points != dim.size)
        return false;
    }
    return true;
  }

  // Copies the init where it does not already lie in the result's place.
  std::vector<FlatStatement> copy_of_init() const {
    if (!body_.init)
      return {};
    const program::Window &from = stored_.windows[static_cast<std::size_t>(to_int(*body_.init))];
    const program::Window &to = stored_.windows[static_cast<std::size_t>(to_int(statement_.out))];
    if (from.buffer == to.buffer && from.offset == to.offset && from.strides == to.strides)
      return {};
    if (shape_of(*body_.init) != shape_of(statement_.out))
      fail(ErrorCode::Shape, "the init has another shape than the result");
    return flatten_copy(stored_, *body_.init, statement_);
  }

  const StoredProgram &stored_;
  const Statement &statement_;
  const Contraction &body_;
  std::vector<Linear> out_;
  std::vector<std::vector<Linear>> inputs_;
  std::vector<Constraint> constraints_;
  std::vector<Condition> conditions_;
  std::vector<Bounds> box_;
  std::vector<std::size_t> kept_;
  std::size_t outputs_ = 0;
};

} // namespace

std::vector<FlatStatement> flatten(const StoredProgram &stored, const Statement &statement) {
  if (const auto *map = std::get_if<Map>(&statement.body))
    return flatten_map(stored, *map, statement);
  if (const auto *contraction = std::get_if<Contraction>(&statement.body))
    return Flattening(stored, statement, *contraction).run();
  throw Error(ErrorCode::Unsupported, "a view has no nest of its own", statement.origin);
}

} // namespace tilefuse::nest
