// SPDX-License-Identifier: Apache-2.0
#include "lower/register_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::ForKind;
using kernel::Space;
using kernel::StmtRef;
using kernel::Type;
using kernel::VarId;
using program::Agg;
using program::Comb;
using Body = std::function<StmtRef()>;

class RegisterTile {
 public:
  RegisterTile(const Context& cx, const StepSizes& sizes)
      : cx_(cx), b_(cx_.build), lane_(schedule::lane_index(cx.schedule)) {
    for (std::size_t i = 0; i < cx_.outputs(); ++i) {
      const std::int64_t lanes = cx_.schedule.splits[i].lane;
      copies_.push_back((sizes[i] + lanes - 1) / lanes);
      if (static_cast<int>(i) == lane_) partial_lanes_ = sizes[i] % lanes;
    }
  }

  StmtRef build();

 private:
  Type value_type() const { return {schedule::held_type(cx_.nest), cx_.width()}; }

  // Unroll loops over the register copies of `indices`; the body sees cx_.kept.
  StmtRef for_copies(const std::vector<std::size_t>& indices, const Body& body);
  std::vector<std::size_t> all_copied() const;
  std::vector<std::size_t> copied_by(int input) const;
  ExprRef copy_number(const std::vector<std::size_t>& indices) const;
  // Lanes of the current copy that exist; null when all do.
  ExprRef valid_lanes() const;

  StmtRef reduced_loops(std::size_t level);
  StmtRef reduced_loop(std::size_t index, const Body& body);
  StmtRef accumulate();
  StmtRef accumulate_one(const std::vector<ExprRef>& operands);
  ExprRef load_input(int input) const;
  ExprRef predicate() const;
  ExprRef inside(const nest::Linear& at, std::int64_t bound) const;
  StmtRef store_results();

  Context cx_;
  kernel::Builder& b_;
  int lane_;
  std::vector<std::int64_t> copies_;  // by output index
  std::int64_t partial_lanes_ = 0;    // of the last copy of the lane index; 0: full
  kernel::BufferId acc_{-1};
  std::vector<ExprRef> bases_;        // by input
};

StmtRef RegisterTile::for_copies(const std::vector<std::size_t>& indices, const Body& body) {
  std::vector<VarId> vars;
  for (std::size_t i : indices) {
    vars.push_back(b_.variable("k_" + cx_.nest.indices[i].name, {}));
    const std::int64_t lanes = cx_.schedule.splits[i].lane;
    cx_.kept[i] = b_.mul(b_.var(vars.back()), b_.integer(lanes));
  }
  StmtRef result = body();
  for (std::size_t n = indices.size(); n-- > 0;)
    result = b_.loop(vars[n], ForKind::Unroll, b_.integer(0), b_.integer(copies_[indices[n]]), 1,
                     result);
  for (std::size_t i : indices) cx_.kept[i] = b_.integer(0);
  return result;
}

std::vector<std::size_t> RegisterTile::all_copied() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < copies_.size(); ++i)
    if (copies_[i] > 1) indices.push_back(i);
  return indices;
}

std::vector<std::size_t> RegisterTile::copied_by(int input) const {
  const nest::Operand& operand = cx_.nest.inputs[static_cast<std::size_t>(input)];
  std::vector<std::size_t> indices;
  for (std::size_t i : all_copied())
    if (std::any_of(operand.dims.begin(), operand.dims.end(),
                    [&](const nest::Dim& dim) { return dim.at.coeff[i] != 0; }))
      indices.push_back(i);
  return indices;
}

// Position of the current copy among those of `indices`, the last index fastest.
ExprRef RegisterTile::copy_number(const std::vector<std::size_t>& indices) const {
  ExprRef number = b_.integer(0);
  for (std::size_t i : indices) {
    const std::int64_t lanes = cx_.schedule.splits[i].lane;
    const ExprRef copy = b_.div(cx_.kept[i], b_.integer(lanes));
    number = b_.add(b_.mul(number, b_.integer(copies_[i])), copy);
  }
  return number;
}

ExprRef RegisterTile::valid_lanes() const {
  if (partial_lanes_ == 0) return nullptr;
  const std::size_t lane = static_cast<std::size_t>(lane_);
  const std::int64_t lanes = cx_.schedule.splits[lane].lane;
  const std::int64_t points = (copies_[lane] - 1) * lanes + partial_lanes_;
  const ExprRef left = b_.sub(b_.integer(points), cx_.kept[lane]);
  if (!cx_.is_vector()) return b_.sub(left, b_.lane());
  return b_.min(left, b_.integer(lanes));
}

StmtRef RegisterTile::build() {
  if (cx_.nest.inputs.empty()) return store_results();
  const std::vector<std::size_t> all = all_copied();
  std::int64_t count = 1;
  for (std::size_t i : all) count *= copies_[i];
  acc_ = b_.buffer({.name = fmt::format("acc{}", b_.kernel().buffers.size()),
                    .space = Space::Register,
                    .type = value_type(),
                    .elems = count});
  std::vector<StmtRef> body;
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k) {
    const VarId base = b_.variable("base", {});
    body.push_back(b_.let(base, input_base(cx_, static_cast<int>(k))));
    bases_.push_back(b_.var(base));
  }
  const double start = nest::initial_value(cx_.nest.agg, schedule::held_type(cx_.nest));
  body.push_back(for_copies(all, [&] {
    return b_.store(acc_, copy_number(all), b_.real(start, value_type()));
  }));
  body.push_back(reduced_loops(0));
  body.push_back(store_results());
  return b_.block(std::move(body));
}

StmtRef RegisterTile::reduced_loops(std::size_t level) {
  while (level < cx_.schedule.order.size() &&
         static_cast<std::size_t>(cx_.schedule.order[level]) < cx_.outputs())
    ++level;
  if (level == cx_.schedule.order.size()) return accumulate();
  const std::size_t index = static_cast<std::size_t>(cx_.schedule.order[level]);
  return reduced_loop(index, [&, level] { return reduced_loops(level + 1); });
}

StmtRef RegisterTile::reduced_loop(std::size_t index, const Body& body) {
  const std::int64_t extent = cx_.nest.indices[index].extent;
  const std::int64_t unroll = cx_.schedule.splits[index].keep;
  const std::string& name = cx_.nest.indices[index].name;
  const auto unrolled = [&](ExprRef start, std::int64_t count) {
    const VarId var = b_.variable("u_" + name, {});
    cx_.value[index] = b_.add(start, b_.var(var));
    return b_.loop(var, ForKind::Unroll, b_.integer(0), b_.integer(count), 1, body());
  };
  std::vector<StmtRef> parts;
  const std::int64_t whole = extent / unroll * unroll;
  if (whole > unroll) {
    const VarId var = b_.variable(name, {});
    const StmtRef inner = unrolled(b_.var(var), unroll);
    parts.push_back(
        b_.loop(var, ForKind::Serial, b_.integer(0), b_.integer(whole), unroll, inner));
  } else {
    parts.push_back(unrolled(b_.integer(0), whole));
  }
  if (whole < extent) parts.push_back(unrolled(b_.integer(whole), extent - whole));
  return b_.block(std::move(parts));
}

ExprRef RegisterTile::inside(const nest::Linear& at, std::int64_t bound) const {
  const ExprRef value = linear(cx_, at, points(cx_));
  return b_.logical_and(b_.scalar(ScalarOp::Ge, {value, b_.integer(0)}),
                        b_.scalar(ScalarOp::Lt, {value, b_.integer(bound)}));
}

// Whether the current point takes part: constraints, and guards that no fill value can stand for. Null: always.
ExprRef RegisterTile::predicate() const {
  ExprRef all = nullptr;
  for (const nest::Constraint& constraint : cx_.nest.constraints)
    all = b_.logical_and(all, inside(constraint.expr, constraint.bound));
  if (schedule::has_neutral_fill(cx_.nest)) return all;
  for (const nest::Operand& input : cx_.nest.inputs)
    for (const nest::Dim& dim : input.dims)
      if (dim.guarded) all = b_.logical_and(all, inside(dim.at, dim.size));
  return all;
}

// The value of an input at the current point, in every lane.
ExprRef RegisterTile::load_input(int input) const {
  const std::size_t k = static_cast<std::size_t>(input);
  const Address address = input_address(cx_, input, bases_[k]);
  const bool spread = address.lane_stride != 0 && cx_.width() > 1;
  const bool direct = cx_.schedule.fills[k] == schedule::Fill::Direct;
  ExprRef valid = nullptr;
  if (direct && (spread || !cx_.is_vector())) valid = valid_lanes();
  if (direct && schedule::has_neutral_fill(cx_.nest)) {
    ExprRef all = nullptr;
    for (const nest::Dim& dim : cx_.nest.inputs[k].dims)
      if (dim.guarded) all = b_.logical_and(all, inside(dim.at, dim.size));
    const ExprRef count = valid ? valid : b_.integer(spread ? cx_.width() : 1);
    if (all) valid = b_.select(all, count, b_.integer(0));
  }
  const ExprRef index = b_.add(address.base, address.rest);
  const ExprRef raw = b_.load(cx_.input_buffers[k], index, spread ? cx_.width() : 1,
                              spread ? address.lane_stride : 1, valid,
                              valid ? schedule::neutral_fill(cx_.nest) : 0);
  const ExprRef value = b_.cast(raw, schedule::held_type(cx_.nest));
  return spread ? value : b_.broadcast(value, cx_.width());
}

StmtRef RegisterTile::accumulate_one(const std::vector<ExprRef>& operands) {
  const std::vector<std::size_t> all = all_copied();
  const ExprRef position = copy_number(all);
  const ExprRef old = b_.load(acc_, position, cx_.width());
  ExprRef value = operands[0];
  const Agg agg = cx_.nest.agg;
  if (cx_.nest.comb == Comb::Mul && agg == Agg::Sum && is_float(schedule::held_type(cx_.nest)))
    return b_.store(acc_, position, b_.fma(operands[0], operands[1], old));
  if (operands.size() > 1)
    value = b_.scalar(cx_.nest.comb == Comb::Mul ? ScalarOp::Mul : ScalarOp::Add,
                      {operands[0], operands[1]});
  switch (agg) {
    case Agg::Assign: return b_.store(acc_, position, value);
    case Agg::Sum: return b_.store(acc_, position, b_.scalar(ScalarOp::Add, {old, value}));
    case Agg::Product: return b_.store(acc_, position, b_.scalar(ScalarOp::Mul, {old, value}));
    case Agg::Max: return b_.store(acc_, position, b_.scalar(ScalarOp::Max, {old, value}));
    case Agg::Min: return b_.store(acc_, position, b_.scalar(ScalarOp::Min, {old, value}));
  }
  return nullptr;
}

// Fragments of the operand with fewer register copies are loaded first and stay; the other's come one by one.
StmtRef RegisterTile::accumulate() {
  if (const ExprRef all = predicate()) {
    const std::vector<std::size_t> copied = all_copied();
    return for_copies(copied, [&] {
      std::vector<ExprRef> operands;
      for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k)
        operands.push_back(load_input(static_cast<int>(k)));
      return b_.branch(predicate(), accumulate_one(operands));
    });
  }
  const auto fragments = [&](int input) {
    std::int64_t count = 1;
    for (std::size_t i : copied_by(input)) count *= copies_[i];
    return count;
  };
  const int inputs = static_cast<int>(cx_.nest.inputs.size());
  const int streamed = inputs < 2 || fragments(0) >= fragments(1) ? 0 : 1;
  const int resident = inputs < 2 ? -1 : 1 - streamed;
  std::vector<StmtRef> body;
  std::vector<std::size_t> resident_copies;
  kernel::BufferId held{-1};
  if (resident >= 0) {
    resident_copies = copied_by(resident);
    held = b_.buffer({.name = fmt::format("frag{}", b_.kernel().buffers.size()),
                      .space = Space::Register,
                      .type = value_type(),
                      .elems = fragments(resident)});
    body.push_back(for_copies(resident_copies, [&] {
      return b_.store(held, copy_number(resident_copies), load_input(resident));
    }));
  }
  const std::vector<std::size_t> streamed_copies = copied_by(streamed);
  std::vector<std::size_t> others;
  for (std::size_t i : all_copied())
    if (std::find(streamed_copies.begin(), streamed_copies.end(), i) == streamed_copies.end())
      others.push_back(i);
  body.push_back(for_copies(streamed_copies, [&] {
    const VarId value = b_.variable("v", value_type());
    const StmtRef let = b_.let(value, load_input(streamed));
    const StmtRef inner = for_copies(others, [&] {
      std::vector<ExprRef> operands(static_cast<std::size_t>(inputs), b_.var(value));
      if (resident >= 0)
        operands[static_cast<std::size_t>(resident)] =
            b_.load(held, copy_number(resident_copies), cx_.width());
      return accumulate_one(operands);
    });
    return b_.block({let, inner});
  }));
  return b_.block(std::move(body));
}

StmtRef RegisterTile::store_results() {
  const std::vector<std::size_t> all = all_copied();
  const nest::Linear at = nest::flat(cx_.nest.out, cx_.nest.indices.size());
  const std::size_t slot = static_cast<std::size_t>(cx_.nest.out.slot);
  const std::int64_t lane_stride = lane_ < 0 ? 1 : at.coeff[static_cast<std::size_t>(lane_)];
  return for_copies(all, [&] {
    const ExprRef valid = valid_lanes();
    const ExprRef acc =
        cx_.nest.inputs.empty() ? nullptr : b_.load(acc_, copy_number(all), cx_.width());
    const ExprRef value = post_value(cx_, cx_.nest.post, acc, valid);
    const ExprRef stored = b_.cast(value, cx_.nest.slots[slot].type);
    return b_.store(cx_.slot_buffers[slot], linear(cx_, at, points(cx_)), stored,
                    cx_.width() > 1 ? lane_stride : 1, valid);
  });
}

}  // namespace

StmtRef register_tile(const Context& cx, const StepSizes& sizes) {
  return RegisterTile(cx, sizes).build();
}

}  // namespace tilefuse::lower
