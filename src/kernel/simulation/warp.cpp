// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/warp.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/simulation/math.h"

namespace tilefuse::kernel::simulation {

Warp::Warp(Machine &machine, std::size_t rank, std::size_t number, std::size_t agent)
    : machine_(machine), rank_(rank), number_(number), agent_(agent), width_(machine.program.width),
      first_item_(static_cast<std::int32_t>(number) * width_) {
  const std::int64_t left = machine.kernel.block_size - first_item_;
  items_ = static_cast<int>(std::min<std::int64_t>(left, width_));
  all_ = items_ == 64 ? ~Mask{0} : (Mask{1} << items_) - 1;
  cells_.resize(static_cast<std::size_t>(machine.program.cells));
  written_.resize(static_cast<std::size_t>(machine.program.register_values));
  in_flight_.resize(written_.size());
  multiplied_.resize(written_.size());
  groups_.resize(static_cast<std::size_t>(width_));
  store_groups_.resize(groups_.size());
  for (int lane = 0; lane < width_; ++lane)
    cells(machine.program.lane_slot)[lane].whole = first_item_ + lane;
}

void Warp::start_block(std::int64_t block) {
  block_ = block;
  state_ = State::Running;
  counter_ = 0;
  mask_ = all_;
  awaited_ = machine_.program.awaits_earlier ? 0 : all_;
  frames_.clear();
  copies_.clear();
  started_.clear();
  stores_.clear();
  std::fill(store_groups_.begin(), store_groups_.end(), 0);
  wgmma_groups_ = 0;
  std::fill(in_flight_.begin(), in_flight_.end(), std::int16_t{0});
  std::fill(multiplied_.begin(), multiplied_.end(), std::int16_t{0});
  std::fill(groups_.begin(), groups_.end(), 0);
  std::fill(written_.begin(), written_.end(), Mask{0});
  for (int lane = 0; lane < width_; ++lane)
    cells(machine_.program.block_slot)[lane].whole = block;
}

void Warp::run() {
  machine_.position.block = block_;
  if (machine_.recorder != nullptr)
    machine_.recorder->enter(rank_, static_cast<std::size_t>(first_item_ / width_));
  while (state_ == State::Running) {
    const Op &op = current();
    machine_.position.stmt = line();
    if (machine_.recorder != nullptr)
      machine_.recorder->operation(counter_, std::popcount(mask_));
    ++counter_;
    step(op);
  }
}

void Warp::wake() {
  ++counter_;
  state_ = State::Running;
}

bool Warp::retry() {
  const std::int64_t before = passed_;
  state_ = State::Running;
  run();
  return passed_ != before;
}

StmtRef Warp::line() const {
  const auto &lines = machine_.program.lines;
  return lines.empty() ? nullptr : lines[at(current().line)];
}

const Barrier &Warp::barrier() const { return std::get<Barrier>(line()->node); }

void Warp::fault(std::string_view what, int lane) {
  machine_.position.fault(what, first_item_ + lane);
}

void Warp::need_whole_warp(std::string_view what) {
  if (mask_ != all_)
    fault(what, std::countr_zero(all_ & ~mask_));
}

// An access to global memory that an earlier kernel may still write, or read.
void Warp::need_awaited(int buffer) {
  const Buffer &touched = machine_.kernel.buffers[at(buffer)];
  if (const Mask early = mask_ & ~awaited_;
      early != 0 && touched.space == Space::Global && !touched.fixed)
    fault(fmt::format("{} is touched before earlier kernels are awaited", touched.name),
          std::countr_zero(early));
}

void Warp::step(const Op &op) {
  switch (op.code) {
  case Code::Apply:
  case Code::Select:
  case Code::Fma:
  case Code::Dot:
  case Code::Convert:
  case Code::Broadcast:
  case Code::Copy:
    return arithmetic(op);
  case Code::CheckRegister:
    return check_register(op);
  case Code::LoadRegister:
    return load_register(op);
  case Code::StoreRegister:
    return store_register(op);
  case Code::Load:
  case Code::LoadOfRank:
    return load(op);
  case Code::Store:
    return store(op);
  case Code::Index:
    return;
  case Code::Intrinsic:
    return std::visit([&](const auto &node) { execute(node, op); },
                      std::get<Intrinsic>(machine_.position.stmt->node));
  default:
    return control(op);
  }
}

const Cell *Warp::operand(const Op &op, ExprRef expr) const {
  const OperandSlot *slot = machine_.program.operands.data() + op.number;
  const OperandSlot *end = slot + op.operands;
  slot = std::find_if(slot, end, [&](const OperandSlot &each) { return each.expr == expr; });
  TILEFUSE_CHECK(slot != end, "an operand that was not computed");
  return read(slot->slot);
}

// All work-items compute, active or not: what an inactive one holds is never read.
void Warp::arithmetic(const Op &op) {
  const auto width = static_cast<std::size_t>(width_);
  const std::size_t count = width * static_cast<std::size_t>(op.lanes);
  const Cell *a = read(op.a);
  Cell *to = cells(op.to);
  switch (op.code) {
  case Code::Apply:
    check_divisors(op);
    return apply(op.scalar, op.elem, op.lanes > 1, {a, op.has_b ? read(op.b) : nullptr, to, count});
  case Code::Select: {
    const Cell *b = read(op.b);
    const Cell *c = read(op.c);
    for (std::size_t i = 0; i < count; ++i)
      to[i] = a[i].whole != 0 ? b[i] : c[i];
    return;
  }
  case Code::Fma:
    return fma(op.elem, {a, read(op.b), to, count}, read(op.c));
  case Code::Dot:
    return dot(op.elem, {at(op.number), width}, {a, read(op.b), to, count}, read(op.c));
  case Code::Convert:
    return convert(op.elem, op.to_elem, a, to, count);
  case Code::Broadcast:
    for (std::size_t row = 0; row < count; row += width * at(op.number))
      std::copy_n(a, width * at(op.number), to + row);
    return;
  default:
    std::copy_n(a, count, to);
  }
}

void Warp::check_divisors(const Op &op) {
  const bool divides = op.scalar == ScalarOp::Div || op.scalar == ScalarOp::Mod;
  if (!divides || is_float(op.elem))
    return;
  const Cell *b = read(op.b);
  for_active([&](int lane) {
    for (int row = 0; row < op.lanes; ++row)
      if (b[row * width_ + lane].whole == 0)
        fault("an integer division by zero", lane);
  });
}

void Warp::control(const Op &op) {
  switch (op.code) {
  case Code::LoopBegin:
    frames_.push_back({mask_, 0});
    std::copy_n(read(op.a), width_, cells(op.to));
    return;
  case Code::LoopTest: {
    const Cell *end = read(op.a);
    const Cell *at = cells(op.to);
    for_active([&](int lane) {
      if (at[lane].whole >= end[lane].whole)
        mask_ &= ~(Mask{1} << lane);
    });
    if (mask_ != 0)
      return;
    mask_ = frames_.back().outer;
    frames_.pop_back();
    counter_ = op.target;
    return;
  }
  case Code::LoopNext: {
    Cell *at = cells(op.to);
    for_active([&](int lane) {
      if (__builtin_add_overflow(at[lane].whole, op.number, &at[lane].whole))
        mask_ &= ~(Mask{1} << lane);
    });
    counter_ = op.target;
    return;
  }
  case Code::IfBegin: {
    const Cell *condition = read(op.a);
    Mask taken = 0;
    for_active([&](int lane) { taken |= Mask{condition[lane].whole != 0} << lane; });
    frames_.push_back({mask_, taken});
    mask_ = taken;
    if (taken == 0)
      counter_ = op.target;
    return;
  }
  case Code::IfElse:
    mask_ = frames_.back().outer & ~frames_.back().taken;
    if (mask_ == 0)
      counter_ = op.target;
    return;
  case Code::IfEnd:
    mask_ = frames_.back().outer;
    frames_.pop_back();
    return;
  case Code::Barrier:
    --counter_;
    need_whole_warp("does not reach a barrier that others reach");
    state_ = State::Waiting;
    return;
  case Code::End:
    check_stores_ended();
    --counter_;
    state_ = State::Ended;
    return;
  default:
    internal_error("an operation of no kind", __FILE__, __LINE__);
  }
}

void Warp::check_in_flight(const Op &op, std::int64_t value) {
  const RegisterPlace &at = machine_.program.registers[static_cast<std::size_t>(op.buffer)];
  if (started_.empty() || in_flight_[static_cast<std::size_t>(at.number + value)] == 0)
    return;
  const Buffer &buffer = machine_.kernel.buffers[static_cast<std::size_t>(op.buffer)];
  fault(fmt::format("{}[{}] is touched before the wait for its wgmma", buffer.name, value), 0);
}

// Of a value that is about to be written.
void Warp::check_multiplied(const Op &op, std::int64_t value) {
  check_in_flight(op, value);
  const RegisterPlace &at = machine_.program.registers[static_cast<std::size_t>(op.buffer)];
  if (started_.empty() || multiplied_[static_cast<std::size_t>(at.number + value)] == 0)
    return;
  const Buffer &buffer = machine_.kernel.buffers[static_cast<std::size_t>(op.buffer)];
  fault(fmt::format("{}[{}] is written while a wgmma may read it", buffer.name, value), 0);
}

void Warp::check_register(const Op &op) {
  check_in_flight(op, op.number);
  const RegisterPlace &at = machine_.program.registers[static_cast<std::size_t>(op.buffer)];
  const Mask missing = mask_ & ~written_[static_cast<std::size_t>(at.number + op.number)];
  if (missing == 0)
    return;
  const Buffer &buffer = machine_.kernel.buffers[static_cast<std::size_t>(op.buffer)];
  fault(fmt::format("{}[{}] is read before it is written", buffer.name, op.number),
        std::countr_zero(missing));
}

std::int64_t Warp::register_index(const Op &op, Slot index, int lane) {
  const Buffer &buffer = machine_.kernel.buffers[at(op.buffer)];
  const std::int64_t at = read(index)[lane].whole;
  if (at < 0 || at >= buffer.elems) {
    fault(fmt::format("{}[{}] is out of bounds: {} has {} elements", buffer.name, at, buffer.name,
                      buffer.elems),
          lane);
  }
  return at;
}

void Warp::load_register(const Op &op) {
  const RegisterPlace &place = machine_.program.registers[at(op.buffer)];
  for_active([&](int lane) {
    const std::int64_t at = register_index(op, op.a, lane);
    check_in_flight(op, at);
    if ((written_[static_cast<std::size_t>(place.number + at)] >> lane & 1) == 0) {
      const Buffer &buffer = machine_.kernel.buffers[static_cast<std::size_t>(op.buffer)];
      fault(fmt::format("{}[{}] is read before it is written", buffer.name, at), lane);
    }
    const Cell *from = cells_.data() + place.slot + at * place.lanes * width_;
    for (int row = 0; row < op.lanes; ++row)
      cells(op.to)[row * width_ + lane] = from[row * width_ + lane];
  });
}

void Warp::store_register(const Op &op) {
  const RegisterPlace &place = machine_.program.registers[at(op.buffer)];
  const Cell *from = read(op.a);
  if (!op.has_b && mask_ == all_) {
    check_multiplied(op, op.number);
    written_[at(place.number + op.number)] = all_;
    std::copy_n(from, width_ * place.lanes,
                cells_.data() + place.slot + op.number * place.lanes * width_);
    return;
  }
  for_active([&](int lane) {
    const std::int64_t at = op.has_b ? register_index(op, op.b, lane) : op.number;
    check_multiplied(op, at);
    written_[static_cast<std::size_t>(place.number + at)] |= Mask{1} << lane;
    Cell *to = cells_.data() + place.slot + at * place.lanes * width_;
    for (int row = 0; row < place.lanes; ++row)
      to[row * width_ + lane] = from[row * width_ + lane];
  });
}

} // namespace tilefuse::kernel::simulation
