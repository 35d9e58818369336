// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/work_item_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "schedule/lane_reduction.h"
#include "schedule/result_tile.h"
#include "schedule/stage_copy.h"
#include "schedule/staging.h"
#include "schedule/streams.h"
#include "schedule/wgmma/wgmma_registers.h"

namespace tilefuse::cost {
namespace {

using nest::Operand;

// Registers for addresses and loop counters.
constexpr double kSpareRegisters = 30;
// Registers that a compiler takes for each of a register tile where a block may have the whole
// multiprocessor's: it reads operands long before they are used.
constexpr double kHoisted = 1.9;
// The same for each that a body reads from global memory: in a loop, whose reads all stand before
// what is computed of them, and in straight code.
constexpr double kUnderWay = 0.9;
constexpr double kUnderWayStraight = 0.6;
// Register copies that are read as one vector.
constexpr std::int64_t kNearCopies = 4;

// Subscripts p i + q j of so many i and j: those that (i - q', j + p') has too are no new ones.
double distinct(std::int64_t p, double i, std::int64_t q, double j) {
  const std::int64_t both = std::gcd(p, q);
  return i * j - std::max(0.0, i - static_cast<double>(q / both)) *
                     std::max(0.0, j - static_cast<double>(p / both));
}

} // namespace

WorkItemShape::WorkItemShape(const LaneView &view)
    : view_(view), nest_(view.nest), schedule_(view.schedule), target_(view.target),
      rates_(view.target.rates), items_(static_cast<double>(group_size(schedule_))),
      warps_(std::ceil(items_ / rates_.scheduler_lanes)), places_(view.places),
      vector_(vector_index(schedule_)), steps_(steps_of_block()),
      reduced_points_(points_of_reduced()), unrolled_(copies_of_reduced()) {
  copies_.reserve(static_cast<std::size_t>(nest_.output_indices));
  accumulators_ = reduced_vector();
  for (const IndexId i : output_indices(nest_)) {
    const schedule::Split &split = schedule_.splits[i];
    const std::int64_t copies = copies_of(split, points_of_step(nest_, schedule_, i));
    copies_.push_back(static_cast<double>(copies * split.vec));
    accumulators_ *= copies_[i];
  }
  reads_.reserve(nest_.inputs.size());
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k) {
    const Operand &input = nest_.inputs[at(k)];
    reads_.push_back(
        {fragments(input), vectors(input), shared_taps_of(input), staged_by_refill(k)});
  }
}

double WorkItemShape::staged_by_refill(int input) const {
  return is_staged(schedule_.fills[at(input)])
             ? static_cast<double>(schedule::staged_points(nest_, schedule_, input))
             : 0;
}

double WorkItemShape::reduced_vector() const {
  return static_cast<double>(vector_width(schedule_) / result_width(nest_, schedule_));
}

double WorkItemShape::fragments(const Operand &operand) const {
  double count = vector_ && moves(operand, *vector_) ? reduced_vector() : 1;
  for (const IndexId i : output_indices(nest_))
    if (moves(operand, i))
      count *= copies(i);
  return count;
}

double WorkItemShape::vectors(const Operand &operand) const {
  const bool wide = vector_ && moves(operand, *vector_);
  return fragments(operand) / (wide ? static_cast<double>(schedule_.splits[*vector_].vec) : 1);
}

double WorkItemShape::read_registers(int input) const {
  constexpr double kRegisterBytes = 4;
  const double bytes =
      fragments(input) / vectors(input) * static_cast<double>(size_bytes(read_type(input)));
  return std::ceil(bytes / kRegisterBytes);
}

double WorkItemShape::steps_of_block() const {
  double count = 1;
  for (const IndexId i : output_indices(nest_))
    count *= static_cast<double>(schedule_.splits[i].tile / schedule_.splits[i].step());
  return count;
}

double WorkItemShape::points_of_reduced() const {
  double count = 1;
  for (const IndexId i : reduced_indices(nest_)) {
    const schedule::Split &split = schedule_.splits[i];
    const double tile = static_cast<double>(split.tile);
    count *=
        std::ceil(extent(i) / tile) * std::ceil(tile / static_cast<double>(split.copy_stride()));
  }
  return count;
}

double WorkItemShape::refills(int input) const {
  const std::optional<IndexId> level = schedule_.pipes[at(input)].at;
  double count = 1;
  if (!level)
    return 1 / steps();
  for (const IndexId i : chunked_indices(nest_, schedule_)) {
    count *= std::ceil(extent(i) / static_cast<double>(schedule_.splits[i].tile));
    if (i == level)
      break;
  }
  return count;
}

double WorkItemShape::copies_of_reduced() const {
  double count = 1;
  for (const IndexId i : reduced_indices(nest_))
    count *= static_cast<double>(schedule_.splits[i].keep);
  return count;
}

double WorkItemShape::most_near_copies(int input) const {
  const Ids<IndexId> outputs = output_indices(nest_);
  const bool can_be_near = is_staged(schedule_.fills[at(input)]) &&
                           std::any_of(outputs.begin(), outputs.end(),
                                       [&](IndexId i) { return schedule_.splits[i].near; });
  return can_be_near ? kNearCopies : 1;
}

std::int64_t WorkItemShape::near_copies(int input) const {
  if (!is_staged(schedule_.fills[at(input)]) ||
      (vector_ && moves(nest_.inputs[at(input)], *vector_)))
    return 1;
  const auto &[source, tile] = place(input);
  std::int64_t width = 1;
  for (const schedule::StageDim &dim : tile.dims) {
    if (dim.stride != 1) {
      if (dim.stride % kNearCopies != 0)
        return 1;
      continue;
    }
    const Indexed<IndexId, std::int64_t> &coeff = source.dims[at(dim.dim)].at.coeff;
    for (const IndexId i : output_indices(nest_))
      if (schedule_.splits[i].near && coeff[i] == 1 && schedule_.splits[i].keep % kNearCopies == 0)
        width = kNearCopies;
    for (const IndexId i : reduced_indices(nest_))
      if (coeff[i] != 0)
        return 1;
  }
  return width;
}

double WorkItemShape::shared_taps_of(const Operand &input) const {
  double share = 1;
  for (const nest::Dim &dim : input.dims) {
    std::int64_t step = 0; // of the copies of the first index that has any
    double points = 1, found = 1;
    for (const IndexId i : nest_.indices.ids()) {
      const schedule::Split &split = schedule_.splits[i];
      if (dim.at.coeff[i] == 0 || split.keep == 1)
        continue;
      const std::int64_t by = std::llabs(dim.at.coeff[i]) * split.copy_stride();
      const double copies = static_cast<double>(split.keep);
      found = step == 0 ? copies : distinct(step, found, by, copies);
      step = step == 0 ? by : std::gcd(step, by);
      points *= copies;
    }
    share *= std::min(1.0, found / points);
  }
  return share;
}

// What a producer fills is priced as if it were copied, as well as it can be.
double WorkItemShape::copy_width(int input) const {
  return is_copied_by_items(schedule_, input) ? schedule_.pipes[at(input)].width
                                              : item_copy(nest_, schedule_, input).widest;
}

double WorkItemShape::copy_rounds(int input) const {
  return std::ceil(staged_elems(input) / copy_width(input) / items_);
}

bool WorkItemShape::is_long_loop(int input) const {
  return !(is_copied_by_items(schedule_, input) &&
           schedule::writes_rounds(schedule_.pipes[at(input)])) &&
         copy_rounds(input) > static_cast<double>(schedule::kMostWrittenRounds);
}

double WorkItemShape::fetched_registers() const {
  double ahead = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    if (schedule_.pipes[k].is_double_buffered())
      ahead += staged_elems(static_cast<int>(k)) / items_;
    if (const int stream = schedule_.pipes[k].stream; stream > 0)
      ahead += static_cast<double>(stream * body_values(nest_, schedule_, static_cast<int>(k)));
  }
  return ahead;
}

double WorkItemShape::tile_registers() const {
  double fewest = accumulators();
  for (const Read &read : reads_)
    fewest = std::min(fewest, read.fragments);
  return accumulators() + fewest;
}

double WorkItemShape::offset_registers() const {
  double held = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    if (schedule_.pipes[k].rounds != schedule::Rounds::Held)
      continue;
    const int input = static_cast<int>(k);
    const std::vector<schedule::StageDim> &dims = place(input).tile.dims;
    const auto checked = std::count_if(dims.begin(), dims.end(),
                                       [](const schedule::StageDim &dim) { return dim.checked; });
    held += copy_rounds(input) * static_cast<double>(2 + checked);
  }
  return held;
}

double WorkItemShape::spilled_registers() const {
  const double most = static_cast<double>(target_.vector_registers);
  return std::max(
      {0.0, registers() - available_registers(), registers() + offset_registers() - most});
}

double WorkItemShape::registers() const {
  return tile_registers() + fetched_registers() + kSpareRegisters;
}

double WorkItemShape::body_registers() const {
  const double share = reduced_points() > unrolled() ? kUnderWay : kUnderWayStraight;
  double registers = accumulators();
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    if (is_staged(schedule_.fills[k]))
      continue;
    const int input = static_cast<int>(k);
    registers += share * unrolled() * vectors(input) * shared_taps(input) * read_registers(input);
  }
  return registers;
}

double WorkItemShape::taken_registers() const {
  const double hoisted = std::max(kHoisted * tile_registers(), body_registers());
  const double wanted = hoisted + fetched_registers() + kSpareRegisters;
  return std::min({wanted, rates_.item_registers, std::max(available_registers(), 1.0)});
}

double WorkItemShape::available_registers() const {
  return std::min({rates_.item_registers, static_cast<double>(target_.vector_registers),
                   rates_.unit_registers / (warps_ * rates_.scheduler_lanes)});
}

double WorkItemShape::local_bytes() const {
  double bytes = static_cast<double>(schedule::result_bytes(nest_, schedule_) +
                                     schedule::lane_buffer_bytes(nest_, schedule_));
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (is_staged(schedule_.fills[k]))
      bytes += static_cast<double>(
          buffer_elems(schedule_, static_cast<int>(k), places_[k].tile) *
          size_bytes(schedule::held_type(nest_, schedule_, static_cast<int>(k))));
  return bytes;
}

double WorkItemShape::resident_blocks() const { return resident_blocks(local_bytes()); }

double WorkItemShape::most_resident_blocks() const {
  double local = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    local +=
        schedule_.pipes[k].stages * reads_[k].staged *
        static_cast<double>(size_bytes(schedule::held_type(nest_, schedule_, static_cast<int>(k))));
  return resident_blocks(local);
}

double WorkItemShape::resident_blocks(double local) const {
  const double whole = static_cast<double>(std::max(target_.local_bytes, target_.l1_bytes));
  const double by_local = local > 0 ? std::floor(whole / local) : rates_.unit_blocks;
  const double used = taken_registers() * warps_ * rates_.scheduler_lanes;
  const double by_registers = std::floor(rates_.unit_registers / used);
  const double by_items = std::floor(rates_.unit_items / (warps_ * rates_.scheduler_lanes));
  return std::max(1.0, std::min({by_local, by_registers, by_items, rates_.unit_blocks}));
}

double WorkItemShape::unique_bytes(const Operand &operand) const {
  const nest::Slot &slot = slot_of(nest_, operand);
  return static_cast<double>(slot.elems) * static_cast<double>(size_bytes(slot.type));
}

} // namespace tilefuse::cost
