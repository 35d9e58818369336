// SPDX-License-Identifier: Apache-2.0
// Loads, stores and asynchronous copies of a warp.
#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "kernel/simulation/warp.h"

namespace tilefuse::kernel::simulation {
namespace {

// Wraps, so that an absurd index reaches the bounds check.
std::int64_t element(std::int64_t first, int lane, std::int64_t stride) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) +
                                   static_cast<std::uint64_t>(lane * stride));
}

} // namespace

void Warp::gather(const Cell *at, const Cell *valid, int lanes) {
  first_.assign(static_cast<std::size_t>(items_), kInactive);
  count_.assign(static_cast<std::size_t>(items_), 0);
  for_active([&](int lane) {
    const std::int64_t count =
        valid == nullptr ? lanes : std::clamp<std::int64_t>(valid[lane].whole, 0, lanes);
    if (count == 0)
      return;
    first_[static_cast<std::size_t>(lane)] = at[lane].whole;
    count_[static_cast<std::size_t>(lane)] = static_cast<int>(count);
  });
}

void Warp::check_aligned(std::int64_t bytes, DType elem, int buffer) {
  const std::int64_t size = size_bytes(elem);
  for_active([&](int lane) {
    const std::int64_t at = first_[static_cast<std::size_t>(lane)];
    if (count_[static_cast<std::size_t>(lane)] == 0 || at * size % bytes == 0)
      return;
    const std::string &name = machine_.kernel.buffers[static_cast<std::size_t>(buffer)].name;
    fault(fmt::format("{}[{}] is misaligned: byte {} is no multiple of {}", name, at, at * size,
                      bytes),
          lane);
  });
}

// The buffer that a work-item reads: its block's, or that of another of the cluster.
LocalBuffer *Warp::read_buffer(const Op &op, int lane) {
  if (op.code != Code::LoadOfRank)
    return local_buffer(op.buffer);
  const std::int64_t rank = read(op.c)[lane].whole;
  if (rank < 0 || rank >= machine_.kernel.cluster)
    fault(fmt::format("reads of rank {} of a cluster of {}", rank, machine_.kernel.cluster), lane);
  machine_.engine.visit(rank, agent(lane));
  return machine_.local[at(rank)][at(op.buffer)].get();
}

void Warp::load(const Op &op) {
  const Cell *valid = op.has_b ? read(op.b) : nullptr;
  need_awaited(op.buffer);
  gather(read(op.a), valid, op.lanes);
  GlobalBuffer *global = machine_.global[at(op.buffer)].get();
  Cell *to = cells(op.to);
  const Cell fill =
      is_float(op.elem) ? Cell{.real = op.fill} : Cell{.whole = static_cast<std::int64_t>(op.fill)};
  for_active([&](int lane) {
    const std::int64_t first = read(op.a)[lane].whole;
    const int count = count_[at(lane)];
    LocalBuffer *local = read_buffer(op, lane);
    for (int row = 0; row < op.lanes; ++row) {
      Cell &cell = to[row * width_ + lane];
      if (row >= count) {
        cell = fill;
        continue;
      }
      const std::int64_t at = element(first, row, op.number);
      cell = local != nullptr ? local->read(at, agent(lane)) : global->read(at, agent(lane));
    }
  });
  if (op.number == 1 && valid == nullptr)
    check_vector(op);
  if (machine_.recorder != nullptr)
    machine_.recorder->access(op.access, {first_, count_, op.lanes, op.number});
}

void Warp::store(const Op &op) {
  const Cell *valid = op.has_b ? read(op.b) : nullptr;
  need_awaited(op.buffer);
  gather(read(op.a), valid, op.lanes);
  if (op.number == 1 && valid == nullptr)
    check_vector(op);
  LocalBuffer *local = local_buffer(op.buffer);
  GlobalBuffer *global = machine_.global[at(op.buffer)].get();
  const Cell *from = read(op.c);
  for_active([&](int lane) {
    const int count = count_[at(lane)];
    for (int row = 0; row < count; ++row) {
      const std::int64_t at = element(first_[static_cast<std::size_t>(lane)], row, op.number);
      const Cell cell = from[row * width_ + lane];
      if (local != nullptr)
        local->write(at, agent(lane), cell);
      else
        global->write(at, agent(lane), cell);
    }
  });
  if (machine_.recorder != nullptr)
    machine_.recorder->access(op.access, {first_, count_, op.lanes, op.number});
}

// A vector is aligned to its size, if that is a power of two, or to what the target asks for.
void Warp::check_vector(const Op &op) {
  const std::int64_t bytes = op.lanes * size_bytes(op.elem);
  if (op.lanes > 1 && machine_.vector_align > 1 &&
      std::has_single_bit(static_cast<std::uint64_t>(bytes)))
    check_aligned(std::min(bytes, machine_.vector_align), op.elem, op.buffer);
}

void Warp::execute(const AsyncCopy &node, const Op &op) {
  need_awaited(to_int(node.from));
  LocalBuffer &to = *local_buffer(to_int(node.to));
  GlobalBuffer &from = *machine_.global[at(node.from)];
  const DType elem = machine_.kernel[node.to].type.elem;
  const std::int64_t bytes = node.elems * size_bytes(elem);
  gather(operand(op, node.to_index), nullptr, node.elems);
  check_aligned(bytes, elem, to_int(node.to));
  const std::vector<std::int64_t> to_first = first_;
  const std::vector<int> to_count = count_;
  gather(operand(op, node.from_index), node.valid == nullptr ? nullptr : operand(op, node.valid),
         node.elems);
  check_aligned(bytes, elem, to_int(node.from));
  for_active([&](int lane) {
    const auto item = static_cast<std::size_t>(lane);
    for (int row = 0; row < node.elems; ++row) {
      const bool is_valid = row < count_[item];
      const Cell cell =
          is_valid ? from.read(element(first_[item], row, 1), agent(lane)) : Cell{.whole = 0};
      const std::int64_t at = element(to_first[item], row, 1);
      to.begin_write(at, agent(lane));
      copies_.push_back({node.to, at, cell, lane, groups_[item]});
    }
  });
  if (machine_.recorder == nullptr)
    return;
  machine_.recorder->access(op.access, {to_first, to_count, node.elems, 1});
  machine_.recorder->access(op.access + 1, {first_, count_, node.elems, 1});
}

void Warp::execute(const AsyncCommit &, const Op &) {
  for_active([&](int lane) { ++groups_[at(lane)]; });
}

void Warp::execute(const AsyncWait &node, const Op &) {
  const auto is_done = [&](const Copy &copy) {
    const bool is_active = (mask_ >> copy.lane & 1) != 0;
    return is_active && copy.group < groups_[at(copy.lane)] - node.pending;
  };
  for (const Copy &copy : copies_) {
    if (is_done(copy))
      local_buffer(to_int(copy.to))->end_write(copy.index, agent(copy.lane), copy.value);
  }
  std::erase_if(copies_, is_done);
}

void Warp::execute(const Ticket &node, const Op &op) {
  need_awaited(to_int(node.counts));
  LocalBuffer &to = *local_buffer(to_int(node.to.buffer));
  GlobalBuffer &counts = *machine_.global[at(node.counts)];
  for_active([&](int lane) {
    const Cell found = counts.take(operand(op, node.index, lane), agent(lane));
    to.write(operand(op, node.to.index, lane), agent(lane), found);
  });
}

// Its index is constant (kernel/intrinsics_warp.cpp).
void Warp::execute(const Transpose &node, const Op &op) {
  const std::int64_t first = operand(op, node.square.index)[0].whole;
  Op check{.code = Code::CheckRegister};
  check.buffer = to_int(node.square.buffer);
  for (check.number = first; check.number < first + node.rows; ++check.number)
    check_register(check);
  const RegisterPlace &place = machine_.program.registers[at(check.buffer)];
  const auto cell = [&](int row, int column) {
    return cells_.data() + place.slot + ((first + row) * node.rows + column) * width_;
  };
  for (int row = 0; row < node.rows; ++row)
    for (int column = 0; column < row; ++column)
      for_active([&](int lane) { std::swap(cell(row, column)[lane], cell(column, row)[lane]); });
}

void Warp::execute(const Shuffle &node, const Op &op) {
  need_warp_of_32("a shuffle");
  Op check{.code = Code::CheckRegister};
  check.buffer = to_int(node.value.buffer);
  check.number = operand(op, node.value.index)[0].whole;
  check_register(check);
  Cell *cells =
      cells_.data() + machine_.program.registers[at(check.buffer)].slot + check.number * width_;
  const std::vector<Cell> before(cells, cells + kCoreLanes);
  for (int lane = 0; lane < kCoreLanes; ++lane)
    cells[lane] = before[at(lane ^ node.apart)];
}

} // namespace tilefuse::kernel::simulation
