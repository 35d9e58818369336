// SPDX-License-Identifier: Apache-2.0
#include "schedule/lane_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"
#include "schedule/streams.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

bool is_dealt(const Schedule &schedule, IndexId reduced) {
  const Split &split = schedule.splits[reduced];
  const bool is_vector =
      split.vec > 1 && schedule.lanes == LaneKind::WorkItem && schedule.dot == nullptr;
  return split.lane > 1 || is_vector;
}

// Neighbours of a row as the lanes of a vector: each input is read where it lies, the last vector of
// a row with the value that leaves the result alone where there are no more points. Of a term that
// value stands in for the term itself.
Reason wrong_vector(const Nest &nest, const Schedule &schedule, IndexId index) {
  const Split &split = schedule.splits[index];
  const std::string &name = nest.indices[index].name;
  const bool is_partial = extent(nest, index) % split.lane != 0;
  if (schedule.dot != nullptr)
    return fmt::format("reduced index {} has lanes beside dot products", name);
  if (!std::has_single_bit(static_cast<std::uint64_t>(split.lane)))
    return fmt::format("{} lanes of reduced index {}, which are no power of 2", split.lane, name);
  if (split.tile < extent(nest, index) && (is_partial || split.tile % split.lane != 0))
    return fmt::format("chunks of reduced index {} are no whole vectors", name);
  const bool is_term =
      nest.comb == program::Comb::Term; // of which lanes without points are left out
  if (is_partial && !is_term && !has_neutral_fill(nest))
    return fmt::format("the last vector of reduced index {} is not whole", name);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const bool is_moved = moves(nest.inputs[k], index);
    if (is_moved && schedule.fills[k] != Fill::Direct)
      return fmt::format("input {} is staged and read in vectors of reduced index {}", k, name);
    if (is_partial && !is_term && !is_moved)
      return fmt::format("input {} is the same along {}, whose last vector is not whole", k, name);
  }
  return {};
}

Reason wrong_index(const Nest &nest, const Schedule &schedule, IndexId index) {
  const Split &split = schedule.splits[index];
  const std::string &name = nest.indices[index].name;
  if (schedule.lanes == LaneKind::Vector)
    return wrong_vector(nest, schedule, index);
  if (extent(nest, index) % split.vec != 0 || split.tile % split.vec != 0)
    return fmt::format("vectors of {} do not divide reduced index {}", split.vec, name);
  if (split.clip)
    return fmt::format("{} is clipped and has lanes", name);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (split.vec > 1 && is_packed(schedule.fills[k]) && moves(nest.inputs[k], index))
      return fmt::format("input {} is packed and read in vectors of reduced index {}", k, name);
  return {};
}

} // namespace

std::vector<LaneRound> lane_rounds(const Nest &nest, const Schedule &schedule) {
  std::vector<LaneRound> rounds;
  if (has_core(schedule) || schedule.lanes != LaneKind::WorkItem)
    return rounds;
  const std::vector<LanePart> parts = lane_digits(schedule);
  std::int64_t below = 1;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    for (std::int64_t live = part->count; live > 1 && !is_output(nest, part->index);) {
      const std::int64_t apart = (live + 1) / 2;
      rounds.push_back({below, part->count, live, apart});
      live = apart;
    }
    below *= part->count;
  }
  return rounds;
}

bool has_reduced_vector(const Nest &nest, const Schedule &schedule) {
  const std::optional<IndexId> vector = vector_index(schedule);
  return vector && !is_output(nest, *vector);
}

std::int64_t result_width(const Nest &nest, const Schedule &schedule) {
  return has_reduced_vector(nest, schedule) ? 1 : vector_width(schedule);
}

std::int64_t lane_buffer_elems(const Nest &nest, const Schedule &schedule) {
  return lane_rounds(nest, schedule).empty()
             ? 0
             : group_size(schedule) * accumulators(nest, schedule) * result_width(nest, schedule);
}

std::int64_t lane_buffer_bytes(const Nest &nest, const Schedule &schedule) {
  return lane_buffer_elems(nest, schedule) * size_bytes(held_type(nest));
}

Reason wrong_lane_reduction(const Nest &nest, const Schedule &schedule) {
  bool has_any = false;
  for (const IndexId i : reduced_indices(nest)) {
    if (!is_dealt(schedule, i))
      continue;
    has_any = true;
    if (Reason reason = wrong_index(nest, schedule, i))
      return reason;
  }
  if (!has_any)
    return {};
  if (nest.agg == program::Agg::Assign)
    return "lanes of a reduced index have nothing to combine";
  if (schedule.store == Store::Local)
    return "results are stored local beside lanes of a reduced index";
  if (stream_registers(schedule) > 0)
    return "an input streams beside lanes of a reduced index";
  return {};
}

} // namespace tilefuse::schedule
