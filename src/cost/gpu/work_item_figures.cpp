// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/work_item_figures.h"

#include <algorithm>
#include <cmath>

#include "cost/gpu/lane_access.h"
#include "cost/gpu/work_item_shape.h"
#include "schedule/blocks.h"
#include "schedule/lane_reduction.h"
#include "schedule/result_tile.h"
#include "schedule/result_vectors.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using nest::Operand;
using schedule::Schedule;

class WorkItemFigures : public WorkItemShape {
public:
  using WorkItemShape::WorkItemShape;
  Figures figures() const;

private:
  double source_bytes(int input) const;
  double block_barriers() const;
  void add_input(int input, Figures &figures) const;
  void add_global(const Operand &operand, Figures &figures) const;
  static void leave_out_local(Figures &figures);
};

// Bytes that all blocks ask of the last-level cache for an input.
double WorkItemFigures::source_bytes(int input) const {
  const Operand &operand = nest_.inputs[at(input)];
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  const double elem = static_cast<double>(size_bytes(schedule::held_type(nest_, schedule_, input)));
  if (is_staged(schedule_.fills[at(input)]))
    return blocks * steps() * refills(input) * elem * static_cast<double>(place(input).tile.elems);
  double points = blocks * steps();
  for (const IndexId i : nest_.indices.ids())
    if (moves(operand, i))
      points *= is_output(nest_, i) ? static_cast<double>(points_of_step(nest_, schedule_, i))
                                    : extent(i);
  return points * elem;
}

// Two around each refill, unless loops further in have them already; one per refill that is fetched
// ahead; one after what is filled once.
double WorkItemFigures::block_barriers() const {
  if (items_ <= 1)
    return 0;
  const auto staged_at = [&](std::optional<IndexId> level, bool ahead) {
    for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
      if (is_staged(schedule_.fills[k]) && schedule_.pipes[k].at == level &&
          schedule_.pipes[k].is_ahead() == ahead)
        return true;
    return false;
  };
  const std::vector<IndexId> chunks = chunked_indices(nest_, schedule_);
  double count = 0; // of one step
  bool before = false, after = false;
  for (auto level = chunks.rbegin(); level != chunks.rend(); ++level) {
    if (level == chunks.rbegin() && staged_at(*level, true)) {
      count += 1;
      before = true;
    }
    if (staged_at(*level, false)) {
      count += (before ? 0 : 1) + (after ? 0 : 1);
      before = after = true;
    }
    count *= std::ceil(extent(*level) / static_cast<double>(schedule_.splits[*level].tile));
  }
  const std::size_t rounds = lane_rounds(nest_, schedule_).size();
  count += rounds > 0 ? static_cast<double>(1 + rounds) : 0;
  return steps() * count + (staged_at(std::nullopt, false) ? 1 : 0);
}

void WorkItemFigures::add_input(int input, Figures &figures) const {
  const Operand &operand = nest_.inputs[at(input)];
  const LaneAccess access = input_access(view_, input, place(input));
  const double reads = figures.blocks * steps() * reduced_points() * vectors(operand);
  *figures.block_bytes += source_bytes(input);
  *figures.grid_bytes += unique_bytes(operand);
  if (!is_staged(schedule_.fills[at(input)])) {
    *figures.sectors += reads * access.sectors;
    return;
  }
  const double times = figures.blocks * steps() * refills(input);
  double elems = 1;
  for (const schedule::StageDim &dim : place(input).tile.dims)
    elems *= static_cast<double>(dim.range);
  const double elem = static_cast<double>(size_bytes(schedule::held_type(nest_, schedule_, input)));
  *figures.local_bytes += static_cast<double>(stage_bytes(nest_, schedule_, input));
  *figures.staged_bytes += times * elems * elem;
  *figures.sectors += times * copy_sectors(view_, input, place(input));
  *figures.local_requests += reads * access.requests;
  *figures.local_wavefronts += reads * access.wavefronts;
  *figures.local_conflicts += reads * (access.wavefronts - access.phases);
}

// The result or an extra.
void WorkItemFigures::add_global(const Operand &operand, Figures &figures) const {
  const std::int64_t near = &operand == &nest_.out ? stored_together(nest_, schedule_) : 1;
  const double sectors = operand_access(view_, operand, near).sectors;
  *figures.sectors +=
      figures.blocks * steps() * vectors(operand) / static_cast<double>(near) * sectors;
  *figures.block_bytes += unique_bytes(operand);
  *figures.grid_bytes += unique_bytes(operand);
}

// Of what passes through local memory besides tiles of inputs the model has no figures.
void WorkItemFigures::leave_out_local(Figures &figures) {
  figures.staged_bytes = figures.local_requests = {};
  figures.local_wavefronts = figures.local_conflicts = {};
}

Figures WorkItemFigures::figures() const {
  Figures figures;
  figures.blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  figures.work_items = items_;
  figures.barriers = figures.blocks * block_barriers();
  figures.registers = registers();
  figures.local_bytes = static_cast<double>(schedule::result_bytes(nest_, schedule_) +
                                            schedule::lane_buffer_bytes(nest_, schedule_));
  figures.staged_bytes = 0;
  figures.local_requests = figures.local_wavefronts = figures.local_conflicts = 0;
  figures.sectors = figures.block_bytes = figures.grid_bytes = 0;
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k)
    add_input(k, figures);
  for (const Operand &extra : nest_.extras)
    add_global(extra, figures);
  add_global(nest_.out, figures);
  const bool is_turned = schedule_.store == schedule::Store::Local;
  if (is_turned || !lane_rounds(nest_, schedule_).empty())
    leave_out_local(figures);
  if (is_turned)
    figures.barriers = figures.sectors = {};
  if (nest_.agg != program::Agg::Sum || nest_.comb != program::Comb::Mul ||
      !is_float(nest_.acc_type))
    return figures;
  figures.multiply_adds = figures.blocks * items_ * steps() * reduced_points();
  for (const IndexId i : output_indices(nest_))
    *figures.multiply_adds *= copies(i);
  return figures;
}

} // namespace

Figures work_item_figures(const Nest &nest, const Schedule &schedule, const Target &target) {
  LaneCounts counts;
  const std::vector<InputPlace> places = input_places(nest, schedule);
  return WorkItemFigures({nest, schedule, target, counts, places}).figures();
}

} // namespace tilefuse::cost
