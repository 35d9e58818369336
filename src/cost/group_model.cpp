// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cost/lane_models.h"
#include "cost/model.h"
#include "schedule/members.h"

namespace tilefuse::cost {

using schedule::Schedule;

double fills(const nest::Nest &nest, const Schedule &own, int input) {
  const int level = own.stages[static_cast<std::size_t>(input)].at;
  double count = 1;
  for (std::size_t i = 0; i < nest.indices.size(); ++i) {
    const double extent = static_cast<double>(nest.indices[i].extent);
    const bool is_output = static_cast<int>(i) < nest.output_indices;
    const bool per_step = is_output && level >= 0;
    if (is_output)
      count *= std::ceil(extent /
                         static_cast<double>(per_step ? own.splits[i].step() : own.splits[i].tile));
    else if (holds_chunk(nest, own, input, static_cast<int>(i)))
      count *= std::ceil(extent / static_cast<double>(own.splits[i].tile));
  }
  return count;
}

// One unit, no launch.
Estimate predict_tile(const nest::Nest &tile, const Schedule &schedule, const Target &target) {
  Target unit = target;
  unit.compute_units = 1;
  unit.launch_us = 0;
  return target.lanes == LaneKind::Vector ? predict_vector(tile, schedule, unit, true)
                                          : predict_work_items(tile, schedule, unit);
}

double map_fill_seconds(const nest::Nest &tile, const Target &target) {
  constexpr double kOperationsPerSlot = 2; // a multiply-add
  const double peak = target.gflops_per_unit * 1e9;
  const double slots = expression_slots(tile.post) * static_cast<double>(output_points(tile));
  return peak > 0 ? kOperationsPerSlot * slots / peak : 0;
}

Estimate predict(const poly::Group &group, const Schedule &schedule, const Target &target) {
  Estimate all = predict(group.anchor, schedule, target);
  if (group.producers.empty())
    return all;
  const std::vector<nest::Nest> nests = tile_nests(group, schedule);
  std::vector<double> runs = {1}; // of each member's tile nest, in the whole kernel
  for (std::size_t p = 0; p < group.producers.size(); ++p) {
    const poly::Producer &producer = group.producers[p];
    const auto consumer = static_cast<std::size_t>(producer.consumer);
    runs.push_back(runs[consumer] * fills(nests[consumer],
                                          member_schedule(schedule, producer.consumer),
                                          producer.input));
    const double tile =
        producer.feed == poly::Feed::Map
            ? map_fill_seconds(nests[p + 1], target)
            : predict_tile(nests[p + 1], member_schedule(schedule, static_cast<int>(p) + 1), target)
                  .seconds;
    const double per_block = runs.back() * tile / static_cast<double>(all.blocks);
    all.seconds += per_block * all.waves;
    all.staging += per_block;
    all.reasons.push_back({"producer", static_cast<double>(p + 1), "of the group"});
    all.reasons.push_back({"  its tile", tile * 1e6, "us"});
    all.reasons.push_back({"  tiles per block", runs.back() / static_cast<double>(all.blocks), ""});
    all.reasons.push_back({"  computed over needed",
                           runs.back() * nest::flops(nests[p + 1]) / nest::flops(producer.nest),
                           "times"});
  }
  return all;
}

} // namespace tilefuse::cost
