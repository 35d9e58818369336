// SPDX-License-Identifier: Apache-2.0
#include "program/precision/integer_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/precision/moved_grid.h"
#include "program/precision/rounding.h"
#include "program/precision/scaled.h"
#include "program/precision/taps.h"
#include "program/rewrite/rewriter.h"
#include "program/storage/boxes.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kMostConstants = 1 << 16; // elements of what maps read as constants
constexpr std::int64_t kMostProducts = 65000;    // of 255 * 128, that 32 bits hold
constexpr double kSigned = 128;                  // from i8 to u8

bool is_whole(DType type) { return is_narrow(type) || type == DType::I32; }

class Converting {
public:
  explicit Converting(Program program)
      : program_(std::move(program)), readers_(readers_of(program_)) {}

  Program run() {
    for (Statement &statement : std::exchange(program_.statements, {}))
      convert(std::move(statement));
    return with_statements(std::move(program_), std::move(statements_), true);
  }

private:
  static std::vector<int> readers_of(const Program &program) {
    std::vector<int> readers(program.tensors.size(), 0);
    for (const Statement &statement : program.statements) {
      std::vector<TensorId> ids = reads(statement);
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      for (const TensorId id : ids)
        ++readers[at(id)];
    }
    for (const TensorId id : program.outputs)
      ++readers[at(id)];
    return readers;
  }

  // Values.

  // What a contraction reads.
  std::optional<Scaled> value_of(TensorId id) const {
    const auto found = values_.find(id);
    if (found != values_.end())
      return found->second;
    return is_whole(program_[id].type) ? std::optional(integers(id)) : std::nullopt;
  }

  std::optional<Grid> constant_of(TensorId id) const {
    const auto found = constants_.find(id);
    return found != constants_.end() ? std::optional(found->second)
                                     : grid_of(program_[id], kMostConstants);
  }

  // What a map reads. `as_tensor`: a constant that is read as a tensor.
  std::optional<Scaled> value(const Map &map, const Expr &expr,
                              std::optional<TensorId> as_tensor = {}) const {
    if (expr.kind == Expr::Kind::Const)
      return constant_value(single_grid(expr.value));
    if (expr.kind == Expr::Kind::Operand) {
      const TensorId id = map.operands[at(expr.operand)];
      if (id != as_tensor)
        if (const std::optional<Grid> grid = constant_of(id))
          return constant_value(*grid);
      return value_of(id);
    }
    if (expr.kind != Expr::Kind::Call && expr.kind != Expr::Kind::Cast)
      return std::nullopt;
    std::vector<Scaled> args;
    for (const Expr &arg : expr.args) {
      const std::optional<Scaled> of_arg = value(map, arg, as_tensor);
      if (!of_arg)
        return std::nullopt;
      args.push_back(*of_arg);
    }
    return expr.kind == Expr::Kind::Cast ? converted(args[0], expr.args[0].type, expr.type)
                                         : apply(expr.op, expr.type, args);
  }

  // Statements.

  void convert(Statement statement) {
    if (const auto *map = std::get_if<Map>(&statement.body))
      return is_convertible(statement, *map) ? convert_map(statement, *map)
                                             : keep(std::move(statement));
    if (std::holds_alternative<View>(statement.body) || moves(statement))
      return convert_move(std::move(statement));
    const auto &body = std::get<Contraction>(statement.body);
    if (body.agg == Agg::Sum && !body.init && body.comb == Comb::Mul)
      return convert_product(std::move(statement));
    if (body.agg == Agg::Sum && !body.init && body.comb == Comb::None)
      return convert_sum(std::move(statement));
    keep(std::move(statement));
  }

  void keep(Statement statement) { statements_.push_back(std::move(statement)); }

  static bool moves(const Statement &statement) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    return body != nullptr && body->comb == Comb::None &&
           (body->agg == Agg::Assign || body->agg == Agg::Max || body->agg == Agg::Min);
  }

  // Maps.

  bool reads_integers(const Map &map) const {
    return std::any_of(map.operands.begin(), map.operands.end(), [&](TensorId id) {
      return values_.count(id) != 0 || constants_.count(id) != 0 || is_narrow(program_[id].type);
    });
  }

  bool is_convertible(const Statement &statement, const Map &map) const {
    const DType type = program_[statement.out].type;
    return reads_integers(map) && (type == DType::F32 || is_whole(type));
  }

  void convert_map(const Statement &statement, const Map &map) {
    if (is_constant(map))
      return note_constant(statement, map);
    if (const std::optional<Rounding> rounding =
            as_rounding(map.expr, [&](const Expr &e) { return constant_in(map, e); }))
      return round(statement, map, *rounding);
    Operands operands;
    const std::optional<Scaled> whole = value(map, map.expr);
    Expr expr = rebuilt(map, map.expr, operands);
    keep({statement.out, Map{std::move(expr), operands.ids()}, statement.origin});
    if (whole && is_worth(statement.out, *whole))
      values_[statement.out] = *whole;
  }

  std::optional<Grid> constant_in(const Map &map, const Expr &expr) const {
    const std::optional<Scaled> found = value(map, expr);
    return found && found->is_constant() ? std::optional(found->shift) : std::nullopt;
  }

  bool is_constant(const Map &map) const {
    return std::all_of(map.operands.begin(), map.operands.end(), [&](TensorId id) {
      return program_[id].role == Role::Constant || constants_.count(id) != 0;
    });
  }

  // Weights: integers, of the shape of the result, times a scale.
  void note_constant(const Statement &statement, const Map &map) {
    keep(statement);
    const Tensor &out = program_[statement.out];
    if (elems(out.shape) <= kMostConstants)
      if (const std::optional<Scaled> all = value(map, map.expr))
        constants_[statement.out] = all->shift;
    for (const TensorId id : map.operands) {
      const Tensor &tensor = program_[id];
      if (!is_whole(tensor.type) || tensor.shape != out.shape)
        continue;
      const std::optional<Scaled> scaled = value(map, map.expr, id);
      if (scaled && as_term(*scaled) != nullptr) {
        values_[statement.out] = *scaled;
        return;
      }
    }
  }

  // What several statements read of a sum is computed once, in f32.
  bool is_worth(TensorId out, const Scaled &value) const {
    return !value.is_constant() &&
           (readers_[at(out)] <= 1 ||
            (value.terms.size() == 1 && is_narrow(program_[value.terms.front().whole].type)));
  }

  // The expression with integers read in the place of what they stand for.
  Expr rebuilt(const Map &map, const Expr &expr, Operands &operands) {
    if (expr.kind == Expr::Kind::Const)
      return expr;
    const bool is_leaf = expr.kind == Expr::Kind::Operand;
    const TensorId id = is_leaf ? map.operands[at(expr.operand)] : TensorId{};
    if (is_leaf && (constants_.count(id) != 0 || program_[id].role == Role::Constant)) {
      const std::optional<Grid> grid = constant_of(id);
      return grid && grid->is_single() ? constant(grid->single(), expr.type)
                                       : operands.read(program_, id);
    }
    if (expr.type == DType::F32 || expr.type == DType::I32 || is_leaf)
      if (const std::optional<Scaled> found = value(map, expr); found && !is_trivial(*found, expr))
        return cast(to_expr(program_, operands, *found,
                            is_leaf && is_whole(expr.type) ? DType::I32 : expr.type),
                    expr.type);
    if (is_leaf)
      return operands.read(program_, id);
    Expr copy = expr;
    for (Expr &arg : copy.args)
      arg = rebuilt(map, arg, operands);
    return copy;
  }

  // A tensor of integers by itself.
  bool is_trivial(const Scaled &value, const Expr &expr) const {
    const Term *term = as_uniform(value);
    return expr.kind == Expr::Kind::Operand && term != nullptr && is_single(term->offset, 0) &&
           is_single(term->scale, 1) && program_[term->whole].type == expr.type;
  }

  // Rounding.

  void round(const Statement &statement, const Map &map, Rounding rounding) {
    const std::optional<Scaled> inner = value(map, *rounding.value);
    Operands operands;
    Scaled limited = inner.value_or(Scaled{});
    if (inner)
      take_bounds(limited, rounding);
    if (inner && is_repeated(limited, rounding, statement.out))
      return repeat(statement, limited);
    const DType type = program_[statement.out].type;
    const bool shifts =
        type == DType::I8 && rounding.zero.is_single() && rounding.zero.single() < 0;
    if (shifts)
      rounding = shifted(rounding, kSigned);
    Expr expr = inner && is_sum_of_integers(limited)
                    ? to_expr(program_, operands, limited, DType::F32)
                    : without_bounds(literal(map, *rounding.value, operands), rounding);
    expr = rounded(program_, operands, std::move(expr), rounding, shifts ? DType::U8 : type);
    const std::optional<double> at_zero = inner ? std::nullopt : rounded_zero(map, rounding);
    if (!shifts) {
      note_rounded({statement.out, Map{expr, operands.ids()}, statement.origin}, at_zero);
      return keep({statement.out, Map{std::move(expr), operands.ids()}, statement.origin});
    }
    Tensor tensor = program_[statement.out];
    tensor.type = DType::U8;
    tensor.role = Role::Temporary;
    const TensorId whole = program_.add(std::move(tensor));
    note_rounded({whole, Map{expr, operands.ids()}, statement.origin}, at_zero);
    keep({whole, Map{std::move(expr), operands.ids()}, statement.origin});
    values_[statement.out] = integers(whole, -kSigned);
    define(statement.out, statement.origin);
  }

  // What 0 is rounded to, where all that is not constant is 0.
  std::optional<double> rounded_zero(const Map &map, const Rounding &rounding) const {
    const std::function<Expr(Expr)> at_zero = [&](Expr expr) {
      if (expr.kind == Expr::Kind::Operand && !constant_of(map.operands[at(expr.operand)]))
        return constant(0, expr.type);
      for (Expr &arg : expr.args)
        arg = at_zero(std::move(arg));
      return expr;
    };
    const std::optional<Grid> value = constant_in(map, at_zero(*rounding.value));
    if (!value || !value->is_single() || !rounding.zero.is_single())
      return std::nullopt;
    return std::clamp(std::nearbyint(value->single()) + rounding.zero.single(), rounding.low,
                      rounding.high);
  }

  // Of an input of the program, which no kernel could round as it stores it.
  void note_rounded(Statement rounding, std::optional<double> at_zero) {
    const std::vector<TensorId> &operands = std::get<Map>(rounding.body).operands;
    if (at_zero && operands.size() == 1 && program_[operands[0]].role == Role::Input &&
        program_[operands[0]].shape == program_[rounding.out].shape)
      rounded_[rounding.out] = {std::move(rounding), *at_zero};
  }

  // What sums of products are scaled by up to here is one factor, as in QLinearConv.
  bool is_sum_of_integers(const Scaled &value) const {
    return value.terms.size() == 1 && program_[value.terms.front().whole].type == DType::I32;
  }

  // The last division is done as it is written, so that ties fall as in the model.
  Expr literal(const Map &map, const Expr &expr, Operands &operands) {
    if (expr.kind != Expr::Kind::Call || expr.op != ScalarOp::Div)
      return rebuilt(map, expr, operands);
    Expr copy = expr;
    for (Expr &arg : copy.args)
      arg = rebuilt(map, arg, operands);
    return copy;
  }

  // Bounds of what is divided by a constant are those of the integers.
  static Expr without_bounds(Expr expr, Rounding &rounding) {
    if (expr.kind != Expr::Kind::Call || expr.op != ScalarOp::Div ||
        expr.args[1].kind != Expr::Kind::Const || expr.args[1].value <= 0 ||
        !rounding.zero.is_single())
      return expr;
    const auto by = static_cast<float>(expr.args[1].value);
    for (Expr &inner = expr.args[0]; is_bounded(inner);) {
      const double quotient = static_cast<double>(static_cast<float>(inner.args[1].value) / by);
      const double whole = std::nearbyint(quotient) + rounding.zero.single();
      if (inner.op == ScalarOp::Max && whole <= rounding.high)
        rounding.low = std::max(rounding.low, whole);
      else if (inner.op == ScalarOp::Min && whole >= rounding.low)
        rounding.high = std::min(rounding.high, whole);
      else
        break;
      Expr rest = std::move(inner.args[0]);
      inner = std::move(rest);
    }
    return expr;
  }

  static bool is_bounded(const Expr &expr) {
    return expr.kind == Expr::Kind::Call && is_one_of(expr.op, {ScalarOp::Max, ScalarOp::Min}) &&
           expr.args[1].kind == Expr::Kind::Const;
  }

  // Bounds that are the same everywhere are those of the integers.
  static void take_bounds(Scaled &value, Rounding &rounding) {
    if (!rounding.zero.is_single())
      return;
    const auto whole = [&](const Grid &bound) {
      return std::nearbyint(bound.single()) + rounding.zero.single();
    };
    if (value.low && value.low->is_single()) {
      rounding.low = std::max(rounding.low, whole(*value.low));
      value.low.reset();
    }
    if (value.high && value.high->is_single() && !value.low) {
      rounding.high = std::min(rounding.high, whole(*value.high));
      value.high.reset();
    }
  }

  // Whether these are the integers that the value was made from.
  bool is_repeated(const Scaled &value, const Rounding &rounding, TensorId out) const {
    const Term *term = as_uniform(value);
    if (term == nullptr || !is_single(term->scale, 1) || !rounding.zero.is_single() ||
        program_[term->whole].shape != program_[out].shape)
      return false;
    const DType type = program_[term->whole].type;
    const double shift = term->offset.single() + rounding.zero.single();
    return is_narrow(type) && rounding.low <= lowest(type) + shift &&
           rounding.high >= highest(type) + shift;
  }

  void repeat(const Statement &statement, const Scaled &value) {
    const Term &term = value.terms.front();
    // The result counts from its own zero point.
    Scaled same = value;
    const double shift = program_[statement.out].type == program_[term.whole].type ? 0 : -kSigned;
    same.terms.front().offset = single_grid(shift);
    values_[statement.out] = same;
    define(statement.out, statement.origin);
  }

  // The tensor itself, for whoever reads it as it is; dropped where nobody does.
  void define(TensorId out, const std::string &origin) {
    Operands operands;
    const Scaled &value = values_.at(out);
    const DType type = program_[out].type;
    Expr expr = to_expr(program_, operands, value, is_float(type) ? type : DType::I32);
    keep({out, Map{cast(std::move(expr), type), operands.ids()}, origin});
  }

  // Moving.

  void convert_move(Statement statement) {
    const std::vector<TensorId> ids = reads(statement);
    const bool is_known =
        std::any_of(ids.begin(), ids.end(), [&](TensorId id) { return values_.count(id) != 0; });
    if (const auto *view = std::get_if<View>(&statement.body))
      note_view(*view, statement.out);
    const std::optional<Scaled> moved = is_known ? moved_value(statement) : std::nullopt;
    keep(std::move(statement));
    if (moved)
      values_[statements_.back().out] = *moved;
  }

  void note_view(const View &view, TensorId out) {
    const std::optional<Grid> grid = constant_of(view.in);
    const std::optional<Grid> viewed =
        grid ? viewed_grid(*grid, program_[view.in].shape, program_[out].shape) : std::nullopt;
    if (viewed)
      constants_[out] = *viewed;
  }

  // Appends the statement on integers; what its result stands for.
  std::optional<Scaled> moved_value(const Statement &statement) {
    const std::vector<TensorId> ids = reads(statement);
    std::vector<const Term *> terms;
    std::vector<std::optional<Scaled>> values;
    for (const TensorId id : ids)
      values.push_back(value_of(id));
    for (const std::optional<Scaled> &value : values)
      terms.push_back(value ? as_term(*value) : nullptr);
    if (terms.empty() || terms[0] == nullptr)
      return std::nullopt;
    for (const Term *term : terms)
      if (term == nullptr || term->offset != terms[0]->offset || term->scale != terms[0]->scale ||
          program_[term->whole].type != program_[terms[0]->whole].type)
        return std::nullopt;
    const bool is_uniform = as_uniform(*values[0]) != nullptr;
    const bool is_filled = std::holds_alternative<View>(statement.body) || ids.size() > 1 ||
                           taps_of(program_, statement).reaches_all;
    if (ids.size() == 1 && !is_filled && !is_single(terms[0]->offset, 0))
      return std::nullopt;
    std::optional<Term> result = *terms[0];
    if (!is_uniform)
      result = moved_term(program_, statement, *terms[0]);
    if (!result)
      return std::nullopt;
    Tensor tensor = program_[statement.out];
    tensor.type = program_[terms[0]->whole].type;
    tensor.role = Role::Temporary;
    result->whole = program_.add(std::move(tensor));
    Statement copy{result->whole, statement.body, statement.origin};
    if (auto *view = std::get_if<View>(&copy.body))
      view->in = terms[0]->whole;
    else if (auto *body = std::get_if<Contraction>(&copy.body)) {
      body->in[0].tensor = terms[0]->whole;
      if (body->init)
        body->init = terms[1]->whole;
    }
    keep(std::move(copy));
    Scaled value;
    value.terms.push_back(std::move(*result));
    return value;
  }

  // Sums.

  bool is_summed(TensorId out) const {
    const DType type = program_[out].type;
    return type == DType::F32 || type == DType::I32;
  }

  TensorId add_tensor(TensorId like, DType type) {
    Tensor tensor = program_[like];
    tensor.type = type;
    tensor.role = Role::Temporary;
    tensor.data.reset();
    tensor.data_hash.clear();
    return program_.add(std::move(tensor));
  }

  // Appends a sum of integers, and the tensor that it stands for.
  void sum(Statement statement, Grid offset, Grid scale) {
    const TensorId out = statement.out;
    const std::string origin = statement.origin;
    statement.out = add_tensor(out, DType::I32);
    Scaled value;
    value.terms.push_back({statement.out, std::move(offset), std::move(scale)});
    keep(std::move(statement));
    values_[out] = std::move(value);
    define(out, origin);
    if (!is_worth(out, values_.at(out)))
      values_.erase(out);
  }

  // Less its zero point, as 16-bit integers, or as bytes that wrap.
  TensorId centred(const Term &term, DType type, const std::string &origin) {
    if (is_single(term.offset, 0))
      return term.whole;
    const auto [known, is_new] = centred_.try_emplace({term.whole, term.offset.single(), type});
    if (!is_new)
      return known->second;
    Operands operands;
    Expr expr = call(ScalarOp::Add, {cast(operands.read(program_, term.whole), DType::I32),
                                     constant(term.offset.single(), DType::I32)});
    const TensorId out = add_tensor(term.whole, type);
    keep({out, Map{cast(std::move(expr), type), operands.ids()}, origin});
    return known->second = out;
  }

  // The integers of operand `k` with as much of the zero point around them as the statement reads,
  // whose subscripts become those of the result; nothing where that is not known. An input that is
  // rounded has zeros around it before.
  std::optional<TensorId> surrounded(Statement &statement, std::size_t k, const Term &term) {
    const std::optional<std::vector<Reach>> reach = reach_of(program_, statement, k);
    const Shape from = program_[term.whole].shape;
    if (!reach || !is_narrow(program_[term.whole].type))
      return std::nullopt;
    const double zero = -term.offset.single();
    const auto found = rounded_.find(term.whole);
    const bool is_before = found != rounded_.end() && found->second.at_zero == zero;
    const Statement rounding = is_before ? found->second.statement : Statement{};
    const TensorId source = is_before ? std::get<Map>(rounding.body).operands[0]
                                      : centred(term, program_[term.whole].type, statement.origin);
    Contraction copy = identity(source, from.size());
    Shape shape;
    for (std::size_t d = 0; d < from.size(); ++d) {
      const std::int64_t before = std::max<std::int64_t>(0, -(*reach)[d].low);
      copy.out[d].constant = before;
      Affine &subscript = std::get<Contraction>(statement.body).in[k].subscripts[d];
      subscript.constant = subscript.constant + Rational(before);
      shape.push_back(before + std::max(from[d], (*reach)[d].high + 1));
    }
    const auto add = [&](DType type) {
      const TensorId id = add_tensor(term.whole, type);
      program_[id].shape = shape;
      return id;
    };
    const TensorId wide = add(program_[source].type), result = add(program_[term.whole].type);
    keep({wide, std::move(copy), statement.origin});
    if (is_before)
      keep({result, Map{std::get<Map>(rounding.body).expr, {wide}}, rounding.origin});
    else
      keep({result, plus(wide, zero, result), statement.origin});
    return result;
  }

  // A tensor of integers and a number, as integers that wrap.
  Map plus(TensorId wide, double number, TensorId result) {
    Operands operands;
    Expr expr = call(ScalarOp::Add, {cast(operands.read(program_, wide), DType::I32),
                                     constant(number, DType::I32)});
    return {cast(std::move(expr), program_[result].type), operands.ids()};
  }

  void convert_sum(Statement statement) {
    Access &access = std::get<Contraction>(statement.body).in[0];
    const std::optional<Scaled> value = value_of(access.tensor);
    const Term *term = value ? as_uniform(*value) : nullptr;
    if (term == nullptr || values_.count(access.tensor) == 0 || !is_summed(statement.out) ||
        !is_narrow(program_[term->whole].type))
      return keep(std::move(statement));
    const Taps taps = taps_of(program_, statement);
    const Grid scale = term->scale;
    if (taps.count && *taps.count <= kMostProducts) {
      const double offset = term->offset.single() * static_cast<double>(*taps.count);
      access.tensor = term->whole;
      return sum(std::move(statement), single_grid(offset), scale);
    }
    if (elems(program_[term->whole].shape) > kMostProducts && !taps.count)
      return keep(std::move(statement));
    access.tensor = centred(*term, DType::I16, statement.origin);
    sum(std::move(statement), single_grid(0), scale);
  }

  void convert_product(Statement statement) {
    auto &body = std::get<Contraction>(statement.body);
    std::optional<Scaled> values[2];
    const Term *terms[2] = {nullptr, nullptr};
    bool is_known = false;
    for (std::size_t k = 0; k < 2; ++k) {
      is_known = is_known || values_.count(body.in[k].tensor) != 0;
      values[k] = value_of(body.in[k].tensor);
      terms[k] = values[k] ? as_term(*values[k]) : nullptr;
    }
    if (!is_known || terms[0] == nullptr || terms[1] == nullptr || !is_summed(statement.out) ||
        !fits(*terms[0]) || !fits(*terms[1]) ||
        taps_of(program_, statement).most.value_or(kMostProducts + 1) > kMostProducts)
      return keep(std::move(statement));
    std::optional<Grid> scale = single_grid(1);
    for (std::size_t k = 0; k < 2 && scale; ++k) {
      const auto of_result = result_grid(program_, statement, body.in[k], terms[k]->scale);
      scale = of_result ? zip(*scale, *of_result,
                              [](double a, double b) { return nearest(a * b, DType::F32); })
                        : std::nullopt;
    }
    if (!scale || !terms[0]->offset.is_single() || !terms[1]->offset.is_single())
      return keep(std::move(statement));
    Term around;
    for (std::size_t k = 0; k < 2; ++k)
      if (!is_single(terms[k]->offset, 0) && is_single(terms[1 - k]->offset, 0) &&
          !taps_of(program_, statement).count)
        if (const std::optional<TensorId> padded = surrounded(statement, k, *terms[k])) {
          around = *terms[k];
          around.whole = body.in[k].tensor = *padded;
          terms[k] = &around;
        }
    const std::optional<Grid> offset = offset_of(statement, terms);
    for (std::size_t k = 0; k < 2; ++k)
      body.in[k].tensor =
          offset ? terms[k]->whole : centred(*terms[k], DType::I16, statement.origin);
    sum(std::move(statement), offset.value_or(single_grid(0)), *scale);
  }

  // Whether the integers and their offset fit 16 bits; constants are made narrow later.
  bool fits(const Term &term) const {
    const Tensor &tensor = program_[term.whole];
    return is_narrow(tensor.type) || (tensor.role == Role::Constant && tensor.data);
  }

  // What the offset of one operand adds to sums over the other, a constant without one. Nothing
  // where that is not the same everywhere, or both have an offset.
  std::optional<Grid> offset_of(const Statement &statement, const Term *const (&terms)[2]) const {
    const auto &body = std::get<Contraction>(statement.body);
    const bool has[2] = {!is_single(terms[0]->offset, 0), !is_single(terms[1]->offset, 0)};
    if (!has[0] && !has[1])
      return single_grid(0);
    const std::size_t k = has[0] ? 0 : 1;
    const Tensor &other = program_[terms[1 - k]->whole];
    if (has[1 - k] || other.role != Role::Constant || !other.data ||
        !taps_of(program_, statement).count)
      return std::nullopt;
    const std::optional<Grid> sums = summed_grid(program_, statement, body.in[1 - k], other);
    const double offset = terms[k]->offset.single();
    return sums ? std::optional(each(*sums, [&](double sum) { return sum * offset; }))
                : std::nullopt;
  }

  Program program_;
  const std::vector<int> readers_;
  std::vector<Statement> statements_;
  std::map<TensorId, Scaled> values_;  // what a tensor stands for
  std::map<TensorId, Grid> constants_; // computed of constants alone
  std::map<std::tuple<TensorId, double, DType>, TensorId> centred_;
  struct Rounded {
    Statement statement; // a map of one operand
    double at_zero = 0;  // what 0 is rounded to
  };
  std::map<TensorId, Rounded> rounded_; // of inputs of the program, element by element
};

} // namespace

Program integer_products(Program program) { return Converting(std::move(program)).run(); }

} // namespace tilefuse::program
