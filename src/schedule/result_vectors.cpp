// SPDX-License-Identifier: Apache-2.0
#include "schedule/result_vectors.h"

#include <cstddef>

#include "base/index.h"
#include "nest/index.h"
#include "nest/maps_inputs.h"

namespace tilefuse::schedule {
namespace {

constexpr std::int64_t kMostBytes = 16;

// Elements by which the first of an index's copies moves; `in_run`: they are in the run.
std::int64_t moved(const nest::Nest &nest, const Schedule &schedule, IndexId index, bool in_run) {
  const std::int64_t across = nest::flat(nest.out, nest.indices.size()).coeff[index];
  const std::int64_t keep = schedule.splits[index].keep;
  if (!in_run || keep == 1)
    return across;
  return extent(nest, index) > keep ? across * keep : 0;
}

} // namespace

std::int64_t stored_together(const nest::Nest &nest, const Schedule &schedule) {
  if (schedule.lanes != LaneKind::WorkItem || has_core(schedule) || nest.inputs.empty() ||
      maps_inputs(nest) || schedule.store == Store::Local || vector_index(schedule) ||
      !nest.extras.empty())
    return 1;
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  std::int64_t run = 1;               // of copies of the last indices
  IndexId first{nest.output_indices}; // of them
  for (const IndexId i : output_indices(nest).reversed()) {
    const Split &split = schedule.splits[i];
    const bool is_whole = extent(nest, i) % split.step() == 0;
    if (split.keep > 1 && (split.copy_stride() != 1 || out.coeff[i] != run || !is_whole))
      break;
    run *= split.keep;
    first = i;
  }
  const auto divides = [&](std::int64_t elems) {
    bool all = run % elems == 0 && out.constant % elems == 0;
    for (const IndexId i : output_indices(nest))
      all = all && moved(nest, schedule, i, i >= first) % elems == 0;
    return all;
  };
  std::int64_t together = kMostBytes / size_bytes(type_of(nest, nest.out));
  while (together > 1 && !divides(together))
    together /= 2;
  return together;
}

} // namespace tilefuse::schedule
