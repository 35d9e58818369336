// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/integer/checked.h"
#include "nest/integer/interval.h"
#include "nest/nest.h"

namespace tilefuse::nest {
namespace {

using program::Expr;

constexpr std::size_t kMaxIndices = 64;
constexpr std::size_t kMaxName = 64;
constexpr int kMaxDepth = 512;

[[noreturn]] void broken(const Nest &nest, const std::string &what) {
  throw Error(ErrorCode::Shape, fmt::format("nest '{}': {}", nest.name, what));
}

void require(const Nest &nest, bool holds, const std::string &what) {
  if (!holds)
    broken(nest, what);
}

bool is_identifier(const std::string &name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxName && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), part);
}

void verify_indices(const Nest &nest) {
  require(nest, nest.indices.size() <= kMaxIndices, "more than 64 indices");
  require(nest,
          nest.output_indices >= 0 &&
              static_cast<std::size_t>(nest.output_indices) <= nest.indices.size(),
          "output index count out of range");
  std::set<std::string> names;
  std::int64_t points = 1;
  for (const Index &index : nest.indices) {
    require(nest, is_identifier(index.name) && index.name != "slot",
            fmt::format("'{}' cannot name an index", index.name));
    require(nest, names.insert(index.name).second,
            fmt::format("two indices are named '{}'", index.name));
    require(nest, index.extent >= 1, fmt::format("index '{}' has no points", index.name));
    points = checked_mul(points, index.extent);
  }
}

void verify_slots(const Nest &nest) {
  for (std::size_t i = 0; i < nest.slots.size(); ++i) {
    require(nest, nest.slots[i].elems >= 1, fmt::format("slot {} has no elements", i));
    checked_mul(nest.slots[i].elems, size_bytes(nest.slots[i].type));
  }
}

void verify_linear(const Nest &nest, const Linear &form) {
  require(nest, form.coeff.size() == nest.indices.size(),
          "a subscript has another number of coefficients than there are indices");
  range_of(form, nest.indices);
}

// Values of the subscript of a dimension at points that count.
Interval verify_dim(const Nest &nest, const Dim &dim, const std::string &what) {
  verify_linear(nest, dim.at);
  require(nest, dim.size >= 1, fmt::format("{} has a dimension of no elements", what));
  narrow(dim.size);
  Interval at = range_of(dim.at, nest.indices);
  if (dim.by)
    return {0, dim.size - 1};
  if (dim.guarded) {
    at = {std::max<std::int64_t>(at.lo, 0), std::min(at.hi, dim.size - 1)};
    return at.lo <= at.hi ? at : Interval{0, 0};
  }
  require(
      nest, at.lo >= 0 && at.hi < dim.size,
      fmt::format("{}: subscripts {}..{} leave a dimension of {}", what, at.lo, at.hi, dim.size));
  return at;
}

void verify_operand(const Nest &nest, const Operand &operand, const std::string &what) {
  require(nest, to_int(operand.slot) >= 0 && at(operand.slot) < nest.slots.size(),
          fmt::format("{} names slot {}, which does not exist", what, operand.slot));
  Interval address{operand.offset, operand.offset};
  for (const Dim &dim : operand.dims) {
    const Interval at = verify_dim(nest, dim, what);
    const std::int64_t first = checked_mul(at.lo, dim.stride);
    const std::int64_t last = checked_mul(at.hi, dim.stride);
    address.lo = checked_add(address.lo, std::min(first, last));
    address.hi = checked_add(address.hi, std::max(first, last));
  }
  const std::int64_t elems = nest.slots[operand.slot].elems;
  require(
      nest, address.lo >= 0 && address.hi < elems,
      fmt::format("{}: elements {}..{} leave a slot of {}", what, address.lo, address.hi, elems));
  range_of(flat(operand, nest.indices.size()), nest.indices);
}

bool is_zero(const Linear &form) {
  return form.constant == 0 && std::all_of(form.coeff.begin(), form.coeff.end(),
                                           [](std::int64_t value) { return value == 0; });
}

// What is read or written once per output point: no reduced index, no guard.
void verify_output_only(const Nest &nest, const Operand &operand, const std::string &what) {
  const auto outputs = static_cast<std::size_t>(nest.output_indices);
  for (const Dim &dim : operand.dims) {
    require(nest, !dim.guarded, fmt::format("{} has a guarded dimension", what));
    for (std::size_t i = outputs; i < dim.at.coeff.size(); ++i)
      require(nest, dim.at.coeff[i] == 0,
              fmt::format("{} depends on the reduced index '{}'", what, nest.indices[i].name));
  }
}

void verify_out(const Nest &nest) {
  verify_operand(nest, nest.out, "out");
  verify_output_only(nest, nest.out, "out");
  require(nest, !nest.out.constant, "out is marked constant");
  const Linear address = flat(nest.out, nest.indices.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(nest.output_indices); ++i)
    require(nest, nest.indices[i].extent == 1 || address.coeff[i] != 0,
            fmt::format("out does not depend on its index '{}'", nest.indices[i].name));
}

bool says_subscript(const Operand &operand, std::size_t input) {
  return std::any_of(operand.dims.begin(), operand.dims.end(), [&](const Dim &dim) {
    return dim.by && static_cast<std::size_t>(*dim.by) == input;
  });
}

// Subscripts that inputs say: of input 0 alone, by each of the last inputs.
void verify_picks(const Nest &nest) {
  const std::size_t count = positions(nest);
  const std::size_t values = nest.inputs.size() - count;
  const bool picks = nest.comb == program::Comb::Pick;
  require(nest,
          !picks || (count > 0 && values >= 1 && values <= 2 && nest.agg == program::Agg::Sum),
          "a pick is no sum of one or two values at positions");
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    for (const Dim &dim : nest.inputs[k].dims)
      require(nest, !dim.by || (picks && k == 0 && dim.guarded && is_zero(dim.at)),
              "a subscript that an input says stands elsewhere than in input 0 of a pick");
  for (std::size_t k = values; k < nest.inputs.size(); ++k) {
    require(nest, says_subscript(nest.inputs[0], k),
            fmt::format("in {} says no subscript of in 0", k));
    const DType type = nest.slots[nest.inputs[k].slot].type;
    require(nest, !is_float(type) && type != DType::Bool,
            fmt::format("in {} is a position and no integer", k));
  }
}

void verify_inputs(const Nest &nest) {
  if (nest.inputs.empty()) {
    require(nest, nest.comb == program::Comb::None && nest.agg == program::Agg::Assign,
            "a map has a combination or an aggregation");
    require(nest, static_cast<std::size_t>(nest.output_indices) == nest.indices.size(),
            "a map has reduced indices");
    require(nest, nest.constraints.empty(), "a map has constraints");
    return;
  }
  require(nest, program::takes_operands(nest.comb, nest.inputs.size()),
          fmt::format("the combination cannot take {} inputs", nest.inputs.size()));
  for (std::size_t i = 0; i < nest.inputs.size(); ++i)
    verify_operand(nest, nest.inputs[i], fmt::format("in {}", i));
  require(nest, !nest.tf32 || multiplies_f32(nest), "tf32 is for products of f32");
  verify_picks(nest);
}

// Every point of a term counts, and every leaf is a number of the accumulator's type.
void verify_term(const Nest &nest, const Expr &expr) {
  require(nest, expr.kind != Expr::Kind::Acc, "the term reads an accumulator");
  if (expr.kind == Expr::Kind::Operand)
    require(nest,
            expr.operand >= 0 && static_cast<std::size_t>(expr.operand) < nest.inputs.size() &&
                expr.type == nest.acc_type,
            fmt::format("the term reads input ${}, which does not exist", expr.operand));
  for (const Expr &arg : expr.args)
    verify_term(nest, arg);
}

void verify_term(const Nest &nest) {
  require(nest, is_float(nest.acc_type) && nest.term.type == nest.acc_type,
          "the term has another type than the accumulator");
  require(nest, nest.constraints.empty(), "a nest with a term has constraints");
  for (const Operand &input : nest.inputs)
    for (const Dim &dim : input.dims)
      require(nest, !dim.guarded, "an input of a term can leave its range");
  verify_term(nest, nest.term);
}

// Value arguments share one type, which is the result's unless the operation compares.
bool has_call_types(const Expr &call) {
  const std::size_t first = call.op == ScalarOp::Select ? 1 : 0;
  const DType type = call.args.back().type;
  for (std::size_t i = 0; i < call.args.size(); ++i)
    if (call.args[i].type != (i < first ? DType::Bool : type))
      return false;
  return call.type == (row(call.op).is_comparison ? DType::Bool : type);
}

// Logic takes bool and nothing else, bit operations integers; arithmetic takes anything but bool.
bool has_operand_kind(const Expr &call) {
  if (call.op == ScalarOp::Select)
    return true;
  const bool is_bool = call.args[0].type == DType::Bool;
  const bool is_logic =
      call.op == ScalarOp::And || call.op == ScalarOp::Or || call.op == ScalarOp::Not;
  if (is_bitwise(call.op))
    return !is_bool && !is_float(call.type);
  return is_logic ? is_bool : (row(call.op).is_comparison || !is_bool);
}

void verify_expr(const Nest &nest, const Expr &expr, int depth) {
  require(nest, depth <= kMaxDepth, "post is nested too deeply");
  if (expr.kind == Expr::Kind::Acc)
    require(nest, !nest.inputs.empty() && expr.type == nest.acc_type,
            "post reads an accumulator the nest does not have");
  if (expr.kind == Expr::Kind::Operand) {
    require(nest, expr.operand >= 0 && static_cast<std::size_t>(expr.operand) < nest.extras.size(),
            fmt::format("post reads extra ${}, which does not exist", expr.operand));
    const SlotId slot = nest.extras[at(expr.operand)].slot;
    require(nest, expr.type == nest.slots[at(slot)].type,
            fmt::format("post reads extra ${} with another type than its slot's", expr.operand));
  }
  const bool call = expr.kind == Expr::Kind::Call;
  const bool cast = expr.kind == Expr::Kind::Cast;
  const std::size_t arity = call ? static_cast<std::size_t>(row(expr.op).arity) : (cast ? 1 : 0);
  require(nest, expr.args.size() == arity, "post has an operation with a wrong argument count");
  require(nest, !call || has_call_types(expr),
          fmt::format("post: '{}' has arguments of different types", row(expr.op).name));
  if (call)
    require(
        nest, has_operand_kind(expr),
        fmt::format("post: '{}' cannot take {}", row(expr.op).name, to_string(expr.args[0].type)));
  for (const Expr &arg : expr.args)
    verify_expr(nest, arg, depth + 1);
}

} // namespace

void verify(const Nest &nest) {
  require(nest, is_identifier(nest.name), "the name needs 1 to 64 letters, digits and _");
  verify_indices(nest);
  verify_slots(nest);
  verify_inputs(nest);
  if (nest.comb == program::Comb::Term)
    verify_term(nest);
  for (const Constraint &constraint : nest.constraints) {
    verify_linear(nest, constraint.expr);
    require(nest, constraint.bound >= 1, "a constraint that nothing satisfies");
    narrow(constraint.bound);
  }
  verify_out(nest);
  for (std::size_t i = 0; i < nest.extras.size(); ++i) {
    verify_operand(nest, nest.extras[i], fmt::format("extra {}", i));
    verify_output_only(nest, nest.extras[i], fmt::format("extra {}", i));
  }
  verify_expr(nest, nest.post, 0);
}

} // namespace tilefuse::nest
