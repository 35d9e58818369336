// SPDX-License-Identifier: Apache-2.0
// Registers of rows, of each work-item by itself.
#include <algorithm>

#include "base/index.h"
#include "kernel/simulation/math.h"
#include "kernel/simulation/warp.h"

namespace tilefuse::kernel::simulation {

// The first cell of a register; its index is constant (kernel/verify.h).
Cell *Warp::register_rows(const Op &op, const RegisterRef &ref) {
  const RegisterPlace &place = machine_.program.registers[at(ref.buffer)];
  return cells_.data() + place.slot + operand(op, ref.index)[0].whole * place.lanes * width_;
}

Cell *Warp::read_rows(const Op &op, const RegisterRef &ref) {
  Op check{.code = Code::CheckRegister};
  check.buffer = to_int(ref.buffer);
  check.number = operand(op, ref.index)[0].whole;
  check_register(check);
  return register_rows(op, ref);
}

Cell *Warp::written_rows(const Op &op, const RegisterRef &ref) {
  const RegisterPlace &place = machine_.program.registers[at(ref.buffer)];
  written_[at(place.number + static_cast<int>(operand(op, ref.index)[0].whole))] |= mask_;
  return register_rows(op, ref);
}

void Warp::execute(const RowsZero &node, const Op &op) {
  Cell *to = written_rows(op, node.to);
  const int cells = machine_.program.registers[at(node.to.buffer)].lanes;
  for_active([&](int lane) {
    for (int i = 0; i < cells; ++i)
      to[i * width_ + lane].whole = 0;
  });
}

void Warp::execute(const RowsLoad &node, const Op &op) {
  need_awaited(to_int(node.from));
  const Buffer &rows = machine_.kernel[node.to.buffer];
  LocalBuffer *local = local_buffer(to_int(node.from));
  GlobalBuffer *global = machine_.global[at(node.from)].get();
  Cell *to = written_rows(op, node.to);
  for_active([&](int lane) {
    const std::int64_t first = operand(op, node.index, lane);
    for (int i = 0; i < rows.rows * rows.type.lanes; ++i) {
      const std::int64_t from = first + i / rows.type.lanes * node.apart + i % rows.type.lanes;
      to[i * width_ + lane] =
          local != nullptr ? local->read(from, agent(lane)) : global->read(from, agent(lane));
    }
  });
}

void Warp::execute(const RowsStore &node, const Op &op) {
  need_awaited(to_int(node.to));
  const Buffer &rows = machine_.kernel[node.from.buffer];
  LocalBuffer *local = local_buffer(to_int(node.to));
  GlobalBuffer *global = machine_.global[at(node.to)].get();
  const Cell *from = read_rows(op, node.from);
  for_active([&](int lane) {
    const std::int64_t first = operand(op, node.index, lane);
    for (int i = 0; i < rows.rows * rows.type.lanes; ++i) {
      const std::int64_t to = first + i / rows.type.lanes * node.apart + i % rows.type.lanes;
      if (local != nullptr)
        local->write(to, agent(lane), from[i * width_ + lane]);
      else
        global->write(to, agent(lane), from[i * width_ + lane]);
    }
  });
}

void Warp::execute(const RowsDot &node, const Op &op) {
  const Buffer &sums = machine_.kernel[node.acc.buffer];
  const int products = node.op->products;
  const int columns = sums.type.lanes;
  const int depth = machine_.kernel[node.a.buffer].type.lanes;
  const Cell *a = read_rows(op, node.a);
  const Cell *b = read_rows(op, node.b);
  Cell *acc = read_rows(op, node.acc);
  for_active([&](int lane) {
    for (int i = 0; i < sums.rows * columns; ++i) {
      const int row = i / columns;
      const int column = i % columns;
      std::int64_t &sum = acc[i * width_ + lane].whole;
      for (int k = 0; k < depth; ++k) {
        const int of_b = (k / products * columns + column) * products + k % products;
        sum += a[(row * depth + k) * width_ + lane].whole * b[of_b * width_ + lane].whole;
      }
      sum = wrapped(sum, node.op->sum);
    }
  });
}

} // namespace tilefuse::kernel::simulation
