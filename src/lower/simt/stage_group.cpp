// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/stage_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "lower/simt/stage_source.h"
#include "schedule/stage_copy.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;
using schedule::Rounds;
using schedule::StageDim;

} // namespace

GroupFill::GroupFill(const Context &cx, int input, const GroupOffsets &offsets)
    : s_(cx, input), b_(cx.build), width_(cx.schedule.pipes[at(input)].width), offsets_(offsets) {
  accesses_ = 1;
  for (const StageDim &dim : s_.tile.dims)
    accesses_ *= dim.range;
  accesses_ /= width_;
  buffer_base_ = b_.integer(0);
  if (cx.schedule.pipes[at(input)].is_ahead())
    buffer_base_ = b_.mul(cx.turn, buffer_stride(cx.schedule, input, s_.tile));
}

std::int64_t GroupFill::round_count() const {
  return (accesses_ + s_.cx.block_size() - 1) / s_.cx.block_size();
}

ExprRef GroupFill::position(ExprRef round) const {
  const std::int64_t size = s_.cx.block_size();
  return b_.add(b_.mul(round, size), size > 1 ? b_.lane() : b_.integer(0));
}

GroupOffsets::Round GroupFill::offsets_at(ExprRef position) const {
  GroupOffsets::Round round{{s_.streams.size(), b_.integer(0)}, b_.integer(0), {}};
  round.steps.assign(s_.rank(), nullptr);
  std::int64_t below = 1; // accesses of the dimensions further in
  for (std::size_t d = s_.rank(); d-- > 0;) {
    const StageDim &dim = s_.tile.dims[d];
    const std::int64_t width = d + 1 == s_.rank() ? width_ : 1;
    const std::int64_t count = dim.range / width;
    ExprRef digit = b_.div(position, below);
    if (below * count < accesses_)
      digit = b_.mod(digit, count);
    const ExprRef step = count == 1 ? b_.integer(0) : b_.mul(digit, width);
    for (std::size_t k = 0; k < s_.streams.size(); ++k)
      round.from[k] = b_.add(round.from[k], b_.mul(step, s_.streams[k].strides[d]));
    round.to = b_.add(round.to, b_.mul(step, dim.stride));
    round.steps[d] = step;
    below *= count;
  }
  return round;
}

StmtRef GroupFill::declare(const Context &cx, int input, GroupOffsets &offsets) {
  const Rounds rounds = cx.schedule.pipes[at(input)].rounds;
  if (!writes_rounds(cx.schedule.pipes[at(input)]))
    return nullptr;
  const GroupFill fill(cx, input, offsets);
  Stmts lets;
  const auto held = [&](const char *name, ExprRef value) {
    if (rounds != Rounds::Held || kernel::is_constant(value))
      return value;
    const VarId var = cx.build.variable(name, {});
    lets.push_back(cx.build.let(var, value));
    return cx.build.var(var);
  };
  for (std::int64_t r = 0; r < fill.round_count(); ++r) {
    GroupOffsets::Round round = fill.offsets_at(fill.position(cx.build.integer(r)));
    for (ExprRef &from : round.from)
      from = held("from", from);
    round.to = held("to", round.to);
    for (std::size_t d = 0; d < fill.s_.rank(); ++d)
      if (fill.s_.tile.dims[d].checked || fill.s_.stored)
        round.steps[d] = held("e", round.steps[d]);
    offsets.rounds.push_back(std::move(round));
  }
  return cx.build.block(std::move(lets));
}

GroupFill::Place GroupFill::place(const GroupOffsets::Round &offsets) const {
  Place place{{}, b_.add(buffer_base_, offsets.to), nullptr};
  ExprRef inside = nullptr;
  for (std::size_t k = 0; k < s_.streams.size(); ++k) {
    ExprRef from = b_.add(s_.streams[k].base, offsets.from[k]);
    for (std::size_t d = s_.rank(); d-- > 0;)
      from = b_.add(from, b_.mul(s_.origins[d], s_.streams[k].strides[d]));
    place.from.push_back(from);
  }
  for (std::size_t d = s_.rank(); d-- > 0;)
    if (s_.tile.dims[d].checked)
      inside = b_.logical_and(inside, s_.inside(d, b_.add(s_.origins[d], offsets.steps[d])));
  if (inside)
    place.valid = b_.select(inside, width_, 0);
  place.owned = s_.stored ? b_.logical_and(s_.owns_any(), inside) : nullptr;
  for (std::size_t d = 0; s_.stored && d < s_.rank(); ++d)
    if (const ExprRef owns = s_.owns(d, offsets.steps[d]))
      place.owned = b_.logical_and(place.owned, owns);
  return place;
}

StmtRef GroupFill::store_owned(const Place &place, ExprRef value) const {
  if (!s_.stored)
    return nullptr;
  const StmtRef store = b_.store(s_.streams.back().from, place.from.back(), s_.to_stored(value));
  return place.owned ? b_.branch(place.owned, store) : store;
}

StmtRef GroupFill::store(const Place &place, ExprRef value) const {
  if (width_ == 1 || keeps_vectors(s_.tile, width_))
    return b_.store(s_.to, place.to, value);
  return b_.store(s_.to, place.to, value, s_.tile.dims.back().stride);
}

// `body(round, place)` for every access of this work-item; the last round may be partial.
template <typename Body> StmtRef GroupFill::rounds(const Body &body) const {
  const std::int64_t whole = accesses_ / s_.cx.block_size();
  const std::int64_t rest = accesses_ % s_.cx.block_size();
  const bool written = !offsets_.rounds.empty();
  const auto at = [&](std::int64_t round) {
    return place(written ? offsets_.rounds[static_cast<std::size_t>(round)]
                         : offsets_at(position(b_.integer(round))));
  };
  Stmts parts;
  for (std::int64_t round = 0; written && round < whole; ++round)
    parts.push_back(body(b_.integer(round), at(round)));
  if (!written && whole > 0) {
    const VarId round = b_.variable("round", {});
    const VarId e = b_.variable("e", {});
    const StmtRef let = b_.let(e, position(b_.var(round)));
    parts.push_back(b_.loop(round, ForKind::Serial, 0, whole, 1,
                            b_.block({let, body(b_.var(round), place(offsets_at(b_.var(e))))})));
  }
  if (rest > 0)
    parts.push_back(
        b_.branch(b_.less(position(b_.integer(0)), rest), body(b_.integer(whole), at(whole))));
  return b_.block(std::move(parts));
}

StmtRef GroupFill::copy() const {
  return rounds([&](ExprRef, const Place &place) {
    Stmts body;
    const ExprRef value = s_.value(place.from, width_, place.valid);
    const ExprRef held = s_.stored ? named(b_, body, "made", value) : value;
    body.push_back(store(place, held));
    body.push_back(store_owned(place, held));
    return b_.block(std::move(body));
  });
}

StmtRef GroupFill::copy_asynchronously() const {
  return rounds([&](ExprRef, const Place &place) {
    return b_.async_copy({.to = s_.to,
                          .to_index = place.to,
                          .from = s_.streams.front().from,
                          .from_index = place.from.front(),
                          .elems = width_,
                          .valid = place.valid});
  });
}

std::vector<BufferId> GroupFill::declare_registers() const {
  std::vector<BufferId> registers;
  for (std::size_t k = 0; k < s_.read_streams(); ++k)
    registers.push_back(register_buffer(b_, fmt::format("next{}", b_.kernel().buffers.size()),
                                        s_.read_type(k, width_), round_count()));
  return registers;
}

StmtRef GroupFill::fetch(const std::vector<BufferId> &registers) const {
  return rounds([&](ExprRef round, const Place &place) {
    Stmts body;
    for (std::size_t k = 0; k < registers.size(); ++k)
      body.push_back(b_.store(registers[k], round, s_.read(k, place.from[k], width_, place.valid)));
    return b_.block(std::move(body));
  });
}

StmtRef GroupFill::put(const std::vector<BufferId> &registers) const {
  return rounds([&](ExprRef round, const Place &place) {
    std::vector<ExprRef> values;
    for (std::size_t k = 0; k < registers.size(); ++k)
      values.push_back(b_.load(registers[k], round, s_.read_type(k, width_).lanes));
    Stmts body;
    const ExprRef value = s_.made(values, width_, place.valid);
    const ExprRef held = s_.stored ? named(b_, body, "made", value) : value;
    body.push_back(store(place, held));
    body.push_back(store_owned(place, held));
    return b_.block(std::move(body));
  });
}

} // namespace tilefuse::lower
