// SPDX-License-Identifier: Apache-2.0
// Tensor copies, mbarriers and wgmma as a warp meets them.
//
// A wgmma reads its operands at some time between its start and the wait for it: they are read, and
// checked, at both. So does a tensor store: nobody may write there in between. A warp of four
// computes its own 16 rows; the others do the same work on theirs.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/index.h"
#include "kernel/rules.h"
#include "kernel/simulation/math.h"
#include "kernel/simulation/warp.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr int kWarpRows = 16; // of a wgmma
constexpr int kGroupWarps = 4;
constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kChunkBytes = 16;

// Whole numbers are multiplied exactly, and reals with one rounding of a sum.
void multiply(const CoreOp &op, const std::vector<Cell> &a, const std::vector<Cell> &b,
              std::vector<Cell> &d) {
  const bool is_real = is_float(op.d.type);
  for (int m = 0; m < kWarpRows; ++m)
    for (int n = 0; n < op.n; ++n) {
      const Cell *x = a.data() + m * op.k;
      const Cell *y = b.data() + n * op.k;
      Cell &sum = d[at(m * op.n + n)];
      double real = 0;
      std::int64_t whole = 0;
      for (int k = 0; k < op.k && is_real; ++k)
        real += x[k].real * y[k].real;
      for (int k = 0; k < op.k && !is_real; ++k)
        whole += x[k].whole * y[k].whole;
      if (is_real)
        sum.real = narrowed(sum.real + real, op.d.type);
      else
        sum.whole = wrapped(sum.whole + whole, op.d.type);
    }
}

} // namespace

LocalPlace Warp::local_place(const Op &op, const LocalRef &ref, int lane) const {
  return {static_cast<std::int64_t>(rank_), ref.buffer, operand(op, ref.index, lane)};
}

// Where a work-item arrives: at an mbarrier of its block, or of another of the cluster.
LocalPlace Warp::arrived(const Mbarrier &node, const Op &op, int lane) {
  LocalPlace at = local_place(op, node.at, lane);
  if (node.rank == nullptr)
    return at;
  at.rank = operand(op, node.rank, lane);
  if (at.rank < 0 || at.rank >= machine_.kernel.cluster)
    fault(fmt::format("arrives at rank {} of a cluster of {}", at.rank, machine_.kernel.cluster),
          lane);
  return at;
}

void Warp::execute(const Mbarrier &node, const Op &op) {
  const auto value = [&](int lane) {
    return node.value == nullptr ? 0 : operand(op, node.value, lane);
  };
  const int first = std::countr_zero(mask_);
  for_active([&](int lane) {
    const LocalPlace at = local_place(op, node.at, lane);
    if (node.op == MbarrierOp::Init)
      return machine_.engine.init(at, value(lane), agent(lane));
    if (node.op != MbarrierOp::Wait)
      return machine_.engine.arrive(arrived(node, op, lane), value(lane), agent(lane));
    if (at != local_place(op, node.at, first) || value(lane) != value(first) ||
        (value(lane) != 0 && value(lane) != 1))
      fault("waits for another mbarrier or parity than others of its warp", lane);
  });
  if (node.op != MbarrierOp::Wait)
    return;
  if (machine_.engine.has_passed(local_place(op, node.at, first), value(first), agent(first))) {
    ++passed_;
    return;
  }
  --counter_;
  state_ = State::Polling;
}

std::string Warp::missing() const {
  const auto &node = *get_intrinsic<Mbarrier>(line());
  return machine_.engine.missing(local_place(current(), node.at, std::countr_zero(mask_)));
}

// The blocks of the cluster that a work-item's copy goes to.
std::vector<std::int64_t> Warp::ranks_of(const TensorCopy &node, const Op &op, int lane) {
  if (node.ranks == nullptr)
    return {static_cast<std::int64_t>(rank_)};
  const std::int64_t mask = operand(op, node.ranks, lane);
  const std::int64_t cluster = machine_.kernel.cluster;
  if (mask <= 0 || mask >> cluster != 0)
    fault(fmt::format("tensor_copy to ranks {:#b} of a cluster of {}", mask, cluster), lane);
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = 0; rank < cluster; ++rank)
    if ((mask >> rank & 1) != 0)
      ranks.push_back(rank);
  return ranks;
}

void Warp::execute(const TensorCopy &node, const Op &op) {
  const TensorMap &map = machine_.kernel[node.map];
  need_awaited(to_int(map.tensor));
  for_active([&](int lane) {
    BoxCopy copy{.to = local_place(op, node.to, lane), .map = node.map};
    for (const ExprRef each : node.at)
      copy.at.push_back(operand(op, each, lane));
    for (const ExprRef each : node.offsets)
      copy.offsets.push_back(operand(op, each, lane));
    copy.signals = local_place(op, node.signals, lane);
    copy.ranks = ranks_of(node, op, lane);
    std::vector<LocalBuffer *> buffers;
    for (const std::int64_t rank : copy.ranks)
      buffers.push_back(machine_.local[at(rank)][at(node.to.buffer)].get());
    const auto rows =
        machine_.engine.start(copy, buffers, *machine_.global[at(map.tensor)], agent(lane));
    if (machine_.recorder == nullptr)
      return;
    for (std::size_t r = 0; r < rows.first.size(); r += kCoreLanes) {
      const std::size_t count = std::min<std::size_t>(kCoreLanes, rows.first.size() - r);
      machine_.recorder->access(op.access, {std::span(rows.first).subspan(r, count),
                                            std::span(rows.count).subspan(r, count),
                                            static_cast<int>(map.box[0]), 1});
    }
  });
}

void Warp::execute(const TensorStore &node, const Op &op) {
  const TensorMap &map = machine_.kernel[node.map];
  need_awaited(to_int(map.tensor));
  const Buffer &buffer = machine_.kernel[node.from.buffer];
  const std::int64_t size = size_bytes(buffer.type.elem);
  for_active([&](int lane) {
    BoxStore store{.stmt = machine_.position.stmt,
                   .from = local_buffer(to_int(node.from.buffer)),
                   .to = machine_.global[at(map.tensor)].get(),
                   .lane = lane,
                   .group = store_groups_[at(lane)]};
    BoxCopy box{.to = local_place(op, node.from, lane), .map = node.map};
    for (const ExprRef each : node.at)
      box.at.push_back(operand(op, each, lane));
    if (box.to.index < 0 || box.to.index + box_elems(map) > buffer.elems ||
        box.to.index * size % (kSwizzleRows * map.swizzle) != 0 ||
        box.at[0] * size % kChunkBytes != 0)
      fault(fmt::format("tensor_store from {}[{}] to column {}, which are not aligned", buffer.name,
                        box.to.index, box.at[0]),
            lane);
    std::int64_t linear = box.to.index * size; // byte, without swizzle
    for (std::vector<std::int64_t> row : rows_of(map, box))
      for (std::int64_t c = 0; c < map.box[0]; ++c, linear += size, ++row[0])
        if (const std::int64_t to = element_at(map, row); to >= 0) {
          const std::int64_t from = swizzled(linear, map.swizzle) / size;
          store.elements.push_back({from, to, store.from->begin_read(from, agent(lane))});
        }
    stores_.push_back(std::move(store));
  });
}

void Warp::finish_store(const BoxStore &store) {
  machine_.position.stmt = store.stmt;
  for (const BoxStore::Element &element : store.elements) {
    store.from->end_read(element.from);
    store.to->write(element.to, agent(store.lane), element.value);
  }
}

void Warp::execute(const StoreSync &node, const Op &) {
  const StmtRef here = machine_.position.stmt;
  for_active([&](int lane) {
    std::int64_t &groups = store_groups_[at(lane)];
    if (node.step == StoreStep::Commit)
      ++groups;
    for (const auto &local : machine_.local[rank_])
      if (node.step == StoreStep::Fence && local)
        local->fence(agent(lane));
    if (node.step != StoreStep::Wait)
      return;
    const auto is_done = [&](const BoxStore &store) {
      return store.lane == lane && store.group < groups - node.pending;
    };
    for (const BoxStore &store : stores_)
      if (is_done(store))
        finish_store(store);
    machine_.position.stmt = here;
    std::erase_if(stores_, is_done);
  });
}

void Warp::check_stores_ended() {
  if (!stores_.empty())
    fault("ends while a tensor_store may still read its local memory", stores_.front().lane);
}

std::int64_t Warp::Laid::byte_of(std::int64_t row, std::int64_t k, std::int64_t size) const {
  if (panel != 0) {
    const std::int64_t across = row_bytes / size; // elements of a turned row
    return row / across * panel * size + k * row_bytes + row % across * size;
  }
  const std::int64_t apart = lines == 0 ? kSwizzleRows * row_bytes : lines * size; // of 8 rows
  return row / kSwizzleRows * apart + row % kSwizzleRows * row_bytes + k * size;
}

// Rows [first, first + rows) of an operand of op.k columns, row by row.
void Warp::read_operand(const Wgmma &node, const Laid &laid, int first, int rows,
                        std::vector<Cell> &matrix) {
  const auto &[at, row_bytes, panel, lines] = laid;
  const Buffer &buffer = machine_.kernel[at.buffer];
  const std::int64_t size = size_bytes(buffer.type.elem);
  const std::int64_t start = at.index * size;
  const std::int64_t period = kSwizzleRows * row_bytes;
  if (start % kCoreLanes != 0 ||
      (panel == 0 ? lines == 0 && start % period >= row_bytes : start % period != 0))
    fault(fmt::format("wgmma of {}[{}], which does not start a step of rows of {} bytes",
                      buffer.name, at.index, row_bytes),
          0);
  LocalBuffer &from = *local_buffer(to_int(at.buffer));
  matrix.resize(static_cast<std::size_t>(rows * node.op->k));
  Cell *to = matrix.data();
  for (int row = first; row < first + rows; ++row)
    for (int k = 0; k < node.op->k; ++k)
      *to++ = from.read_beside(swizzled(start + laid.byte_of(row, k, size), row_bytes) / size,
                               agent(0));
}

void Warp::read_operands(const Started &started) {
  const Wgmma &node = *started.node;
  const int warp = static_cast<int>(number_ % kGroupWarps);
  if (const auto fragment = fragment_of(machine_.kernel, node))
    read_fragment(*fragment, started.fragment, node.op->a, matrix_a_);
  else
    read_operand(node, {started.a, node.a_row_bytes, node.a_panel, node.a_lines}, warp * kWarpRows,
                 kWarpRows, matrix_a_);
  read_operand(node, {started.b, node.b_row_bytes, node.b_panel, node.b_lines}, 0, node.op->n,
               matrix_b_);
}

// What the matrix unit reads of rows [first, first + rows): matrices of 8 rows of 16 bytes, a phase
// each, as ldmatrix has them; of a turned operand the rows are those of k.
void Warp::record_operand(int access, const CoreOp &op, const Laid &laid, int first, int rows) {
  const std::int64_t size = size_bytes(machine_.kernel[laid.at.buffer].type.elem);
  const bool is_turned = laid.panel != 0;
  const std::int64_t chunk = kChunkBytes / size;
  std::vector<std::int64_t> starts;
  for (std::int64_t row = first; row < first + rows; row += is_turned ? chunk : kSwizzleRows)
    for (std::int64_t k = 0; k < op.k; k += is_turned ? kSwizzleRows : chunk)
      for (std::int64_t i = 0; i < kSwizzleRows; ++i) {
        const std::int64_t byte =
            is_turned ? laid.byte_of(row, k + i, size) : laid.byte_of(row + i, k, size);
        starts.push_back(swizzled(laid.at.index * size + byte, laid.row_bytes) / size);
      }
  machine_.recorder->matrix(access, starts);
}

// Each warp reads its rows of a; the columns of b are read once for all four.
void Warp::record_operands(const Started &started, int access) {
  const Wgmma &node = *started.node;
  const int warp = static_cast<int>(number_ % kGroupWarps);
  const bool is_local = !fragment_of(machine_.kernel, node); // a
  if (is_local)
    record_operand(access, *node.op, {started.a, node.a_row_bytes, node.a_panel, node.a_lines},
                   warp * kWarpRows, kWarpRows);
  if (warp == 0)
    record_operand(access + (is_local ? 1 : 0), *node.op,
                   {started.b, node.b_row_bytes, node.b_panel, node.b_lines}, 0, node.op->n);
}

void Warp::execute(const Wgmma &node, const Op &op) {
  need_warp_of_32("wgmma");
  Started started{.node = &node, .stmt = machine_.position.stmt, .group = wgmma_groups_};
  started.number =
      fragment_index(op, node.acc, fragment_values(machine_.kernel, node.acc, node.op->d));
  if (const auto fragment = fragment_of(machine_.kernel, node))
    started.fragment =
        fragment_index(op, *fragment, fragment_values(machine_.kernel, *fragment, node.op->a));
  started.a = local_place(op, node.a, 0);
  started.b = local_place(op, node.b, 0);
  const auto accumulates = [&](int lane) {
    return node.accumulate == nullptr || operand(op, node.accumulate, lane) != 0;
  };
  started.accumulates = accumulates(0);
  for (int lane = 1; lane < kCoreLanes; ++lane)
    if (local_place(op, node.a, lane) != started.a || local_place(op, node.b, lane) != started.b ||
        accumulates(lane) != started.accumulates)
      fault("wgmma has other operands than others of its warp", lane);
  if (started.accumulates)
    check_accumulators(started);
  read_operands(started);
  if (machine_.recorder != nullptr)
    record_operands(started, op.access);
  mark_in_flight(started, true);
  started_.push_back(started);
}

// They are written, or about to be by a wgmma before.
void Warp::check_accumulators(const Started &started) {
  const RegisterRef &acc = started.node->acc;
  const RegisterPlace &place = machine_.program.registers[at(acc.buffer)];
  for (std::int64_t i = 0; i < fragment_values(machine_.kernel, acc, started.node->op->d); ++i) {
    const auto value = static_cast<std::size_t>(place.number + started.number + i);
    if (in_flight_[value] == 0 && written_[value] != all_)
      fault(fmt::format("{}[{}] is accumulated into before it is written",
                        machine_.kernel[acc.buffer].name, started.number + i),
            std::countr_zero(all_ & ~written_[value]));
  }
}

void Warp::mark_in_flight(const Started &started, bool is_started) {
  const RegisterRef &acc = started.node->acc;
  const RegisterPlace &place = machine_.program.registers[at(acc.buffer)];
  for (std::int64_t i = 0; i < fragment_values(machine_.kernel, acc, started.node->op->d); ++i) {
    const auto value = static_cast<std::size_t>(place.number + started.number + i);
    in_flight_[value] = static_cast<std::int16_t>(in_flight_[value] + (is_started ? 1 : -1));
    written_[value] = all_;
  }
  const auto fragment = fragment_of(machine_.kernel, *started.node);
  if (!fragment)
    return;
  const RegisterPlace &held = machine_.program.registers[at(fragment->buffer)];
  for (std::int64_t i = 0; i < fragment_values(machine_.kernel, *fragment, started.node->op->a);
       ++i) {
    std::int16_t &reads = multiplied_[at(held.number + started.fragment + i)];
    reads = static_cast<std::int16_t>(reads + (is_started ? 1 : -1));
  }
}

void Warp::finish_wgmma(const Started &started) {
  const Wgmma &node = *started.node;
  const CoreOp &op = *node.op;
  machine_.position.stmt = started.stmt;
  read_operands(started);
  const RegisterPlace &to = machine_.program.registers[at(node.acc.buffer)];
  Cell *cell = cells_.data() + to.slot + started.number * to.lanes * width_;
  matrix_d_.assign(static_cast<std::size_t>(kWarpRows * op.n), Cell{});
  const auto for_each = [&](const auto &body) {
    for (int value = 0; value < op.d.values(); ++value)
      for (int lane = 0; lane < kCoreLanes; ++lane) {
        const Place at = place(op.d, lane, value);
        body(matrix_d_[static_cast<std::size_t>(at.row * op.n + at.column)],
             cell[value * width_ + lane]);
      }
  };
  if (started.accumulates)
    for_each([](Cell &matrix, const Cell &held) { matrix = held; });
  if (op.tf32) {
    truncate_tf32(matrix_a_);
    truncate_tf32(matrix_b_);
  }
  multiply(op, matrix_a_, matrix_b_, matrix_d_);
  for_each([](const Cell &matrix, Cell &held) { held = matrix; });
  mark_in_flight(started, false);
}

void Warp::execute(const WgmmaSync &node, const Op &) {
  need_warp_of_32("wgmma");
  if (node.step == WgmmaStep::Commit)
    ++wgmma_groups_;
  if (node.step != WgmmaStep::Wait)
    return;
  const auto is_done = [&](const Started &started) {
    return started.group < wgmma_groups_ - node.pending;
  };
  for (const Started &started : started_)
    if (is_done(started))
      finish_wgmma(started);
  std::erase_if(started_, is_done);
}

} // namespace tilefuse::kernel::simulation
