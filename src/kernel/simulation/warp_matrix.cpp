// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of a warp.
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/index.h"
#include "kernel/rules.h"
#include "kernel/simulation/math.h"
#include "kernel/simulation/warp.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr int kTileRows = 8;
constexpr std::int64_t kRowBytes = 16;

// The 10 bits of mantissa that a tf32 operand is read with.
double truncated_tf32(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>(bits & 0xFFFFE000U));
}

// Where each value of each lane lies in the matrix, row by row; value by value, lanes fastest.
std::vector<std::size_t> positions_in(const Fragment &fragment) {
  std::vector<std::size_t> positions;
  for (int value = 0; value < fragment.values(); ++value)
    for (int lane = 0; lane < kCoreLanes; ++lane) {
      const Place at = place(fragment, lane, value);
      positions.push_back(static_cast<std::size_t>(at.row * fragment.columns + at.column));
    }
  return positions;
}

// The same of a fragment of the table of core instructions.
const std::vector<std::size_t> &positions(const Fragment &fragment) {
  static const auto all = [] {
    std::map<const Fragment *, std::vector<std::size_t>> table;
    for (const CoreOp &op : core_ops())
      for (const Fragment *each : {&op.a, &op.b, &op.d})
        if (each->lanes() >= kCoreLanes)
          table.emplace(each, positions_in(*each));
    return table;
  }();
  return all.at(&fragment);
}

// d += a * b, row by row of b. Products are exact and a sum is rounded once, which is what hardware
// comes close to.
void multiply(const CoreOp &op, const std::vector<Cell> &a, const std::vector<Cell> &b,
              std::vector<Cell> &d) {
  const bool is_real = is_float(op.d.type);
  for (int m = 0; m < op.m; ++m) {
    Cell *sums = d.data() + m * op.n;
    for (int k = 0; k < op.k; ++k) {
      const Cell x = a[at(m * op.k + k)];
      const Cell *row = b.data() + k * op.n;
      for (int n = 0; n < op.n && is_real; ++n)
        sums[n].real += x.real * row[n].real;
      for (int n = 0; n < op.n && !is_real; ++n)
        sums[n].whole += x.whole * row[n].whole;
    }
    for (int n = 0; n < op.n; ++n) {
      if (is_real)
        sums[n].real = narrowed(sums[n].real, op.d.type);
      else
        sums[n].whole = wrapped(sums[n].whole, op.d.type);
    }
  }
}

} // namespace

void truncate_tf32(std::vector<Cell> &matrix) {
  for (Cell &cell : matrix)
    cell.real = truncated_tf32(cell.real);
}

void Warp::need_warp_of_32(std::string_view what) {
  need_whole_warp(fmt::format("does not reach {} that its warp reaches", what));
  if (items_ != kCoreLanes)
    fault(
        fmt::format("{} needs a warp of {} work-items; this one has {}", what, kCoreLanes, items_),
        0);
}

// The index of a register value, the same for all the warp; `values` from there on exist.
std::int64_t Warp::fragment_index(const Op &op, const RegisterRef &ref, std::int64_t values) {
  const Buffer &buffer = machine_.kernel[ref.buffer];
  const Cell *at = operand(op, ref.index);
  for (int lane = 0; lane < kCoreLanes; ++lane) {
    if (at[lane].whole != at[0].whole)
      fault(fmt::format("{} has another index than lane {}", buffer.name, first_item_), lane);
  }
  if (at[0].whole < 0 || at[0].whole > buffer.elems - values)
    fault(fmt::format("{}[{}] is out of bounds: {} has {} elements", buffer.name, at[0].whole,
                      buffer.name, buffer.elems),
          0);
  return at[0].whole;
}

void Warp::execute(const LoadMatrix &node, const Op &op) {
  need_warp_of_32("ldmatrix");
  const DType elem = machine_.kernel[node.from].type.elem;
  const auto size = static_cast<int>(size_bytes(elem));
  const int word = 4 / size; // elements of a work-item per tile
  LocalBuffer &from = *local_buffer(to_int(node.from));
  gather(operand(op, node.index), nullptr, 1);
  std::fill(count_.begin() + node.matrices * kTileRows, count_.end(), 0);
  check_aligned(kRowBytes, elem, to_int(node.from));
  const RegisterPlace &to = machine_.program.registers[at(node.to.buffer)];
  const std::int64_t values = load_matrix_values(machine_.kernel, node);
  const std::int64_t number = fragment_index(op, node.to, values);
  for (int tile = 0; tile < node.matrices; ++tile) {
    for (int lane = 0; lane < kCoreLanes; ++lane) {
      for (int i = 0; i < word; ++i) {
        const int along = lane % 4 * word + i;
        const int row = node.transposed ? along : lane / 4;
        const int column = node.transposed ? lane / 4 : along;
        const std::int64_t first = first_[at(tile * kTileRows + row)];
        const std::int64_t value = number * to.lanes + tile * word + i;
        cells_[at(to.slot + value * width_ + lane)] = from.read(first + column, agent(lane));
      }
    }
  }
  for (std::int64_t i = 0; i < values; ++i)
    written_[at(to.number + number + i)] = all_;
  if (machine_.recorder != nullptr)
    machine_.recorder->matrix(
        op.access, std::span(first_).first(static_cast<std::size_t>(node.matrices * kTileRows)));
}

// A fragment as a matrix, row by row.
void Warp::read_fragment(const RegisterRef &ref, std::int64_t number, const Fragment &fragment,
                         std::vector<Cell> &matrix) {
  Op check{.code = Code::CheckRegister};
  check.buffer = to_int(ref.buffer);
  for (std::int64_t i = 0; i < fragment_values(machine_.kernel, ref, fragment); ++i) {
    check.number = number + i;
    check_register(check);
  }
  const RegisterPlace &from = machine_.program.registers[at(check.buffer)];
  const Cell *cell = cells_.data() + from.slot + number * from.lanes * width_;
  matrix.resize(static_cast<std::size_t>(fragment.rows * fragment.columns));
  const std::size_t *at = positions(fragment).data();
  for (int value = 0; value < fragment.values(); ++value)
    for (int lane = 0; lane < kCoreLanes; ++lane)
      matrix[*at++] = cell[value * width_ + lane];
}

void Warp::execute(const Mma &node, const Op &op) {
  need_warp_of_32("mma");
  const auto index = [&](const RegisterRef &ref, const Fragment &fragment) {
    return fragment_index(op, ref, fragment_values(machine_.kernel, ref, fragment));
  };
  const std::int64_t number = index(node.acc, node.op->d);
  read_fragment(node.a, index(node.a, node.op->a), node.op->a, matrix_a_);
  read_fragment(node.b, index(node.b, node.op->b), node.op->b, matrix_b_);
  read_fragment(node.acc, number, node.op->d, matrix_d_);
  if (node.op->tf32) {
    truncate_tf32(matrix_a_);
    truncate_tf32(matrix_b_);
  }
  multiply(*node.op, matrix_a_, matrix_b_, matrix_d_);
  const RegisterPlace &to = machine_.program.registers[at(node.acc.buffer)];
  Cell *cell = cells_.data() + to.slot + number * to.lanes * width_;
  const std::size_t *at = positions(node.op->d).data();
  for (int value = 0; value < node.op->d.values(); ++value)
    for (int lane = 0; lane < kCoreLanes; ++lane)
      cell[value * width_ + lane] = matrix_d_[*at++];
}

} // namespace tilefuse::kernel::simulation
