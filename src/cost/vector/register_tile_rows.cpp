// SPDX-License-Identifier: Apache-2.0
// Register tiles of a matrix unit. An instruction takes a row a cycle, and no less than half of its
// time for few; registers are loaded row by row beside it.
#include <algorithm>
#include <cmath>

#include "cost/vector/register_tile.h"
#include "nest/index.h"

namespace tilefuse::cost {
namespace {

// Share of the time of loads and of instructions, whichever is less, that the other does not hide.
constexpr double kUnhidden = 0.1;
// Of a register's way through local memory to the vectors of results, cycles of each row.
constexpr double kRowCopy = 2;

} // namespace

// Registers of an operand, or of sums where it is null.
double RegisterTileCost::row_registers(const nest::Operand *operand, const Copies &copies) const {
  double count = 1;
  for (const IndexId i : output_indices(nest_)) {
    const double of_index =
        i == rows_->index ? std::ceil(copies[i] / static_cast<double>(rows_->rows)) : copies[i];
    count *= operand == nullptr || moves(*operand, i) ? of_index : 1;
  }
  return count;
}

// Rows that a step reads of an input.
double RegisterTileCost::row_loads(std::size_t input, const Copies &copies) const {
  const double registers = row_registers(&nest_.inputs[input], copies);
  const double rows = static_cast<int>(input) == rows_->data
                          ? std::min(copies[rows_->index], static_cast<double>(rows_->rows))
                          : static_cast<double>(rows_->groups);
  return registers * rows;
}

StepCost RegisterTileCost::row_step(const Copies &copies) const {
  StepCost cost;
  const double most = schedule_.dot->rows;
  const double rows =
      std::max(std::min(copies[rows_->index], static_cast<double>(rows_->rows)), most / 2);
  cost.accumulators = row_registers(nullptr, copies);
  cost.arithmetic = cost.accumulators;
  cost.loads = row_loads(0, copies) + row_loads(1, copies);
  cost.arithmetic_cycles = cost.arithmetic * rows / most / arithmetic_per_cycle_;
  cost.load_cycles = cost.loads / rates_.loads_per_cycle;
  cost.cycles = std::max(cost.arithmetic_cycles, cost.load_cycles) +
                kUnhidden * std::min(cost.arithmetic_cycles, cost.load_cycles);
  return cost;
}

double RegisterTileCost::row_copies(const Copies &copies) const {
  double rows = 1;
  for (const double count : copies)
    rows *= count;
  return kRowCopy * rows;
}

} // namespace tilefuse::cost
