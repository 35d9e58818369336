// SPDX-License-Identifier: Apache-2.0
#include "cost/group_model.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "cost/expression.h"
#include "cost/gpu/fed_ring.h"
#include "cost/gpu/gemm_model.h"
#include "cost/gpu/row_model.h"
#include "cost/gpu/work_item_model.h"
#include "cost/vector/core_rates.h"
#include "cost/vector/vector_model.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/blocks.h"
#include "schedule/members.h"

namespace tilefuse::cost {

using schedule::Schedule;

double fills(const nest::Nest &nest, const Schedule &own, int input) {
  const bool is_in_chunks = own.pipes[at(input)].at.has_value();
  double count = 1;
  for (const nest::IndexId i : nest.indices.ids()) {
    const double extent = static_cast<double>(nest::extent(nest, i));
    const bool is_output = nest::is_output(nest, i);
    const bool per_step = is_output && is_in_chunks;
    if (is_output)
      count *= std::ceil(extent /
                         static_cast<double>(per_step ? own.splits[i].step() : own.splits[i].tile));
    else if (holds_chunk(nest, own, input, i))
      count *= std::ceil(extent / static_cast<double>(own.splits[i].tile));
  }
  return count;
}

// One unit, no launch.
Estimate predict_tile(const nest::Nest &whole, const nest::Nest &tile, const Schedule &schedule,
                      const Target &target) {
  Target unit = target;
  unit.compute_units = 1;
  unit.launch_us = 0;
  if (has_core(schedule))
    return predict_core_tile(gemm_of(tile, schedule), unit);
  return target.lanes == LaneKind::Vector ? predict_vector(tile, schedule, unit, &whole)
                                          : predict(tile, schedule, unit);
}

double rolled_seconds(double tile, const nest::Nest &nest, const schedule::Rolling &rolling,
                      const Target &target) {
  constexpr double kMoveCycles = 2; // of a vector: read and written
  const double moved = rolling.moved(nest) * static_cast<double>(output_points(nest));
  const double vectors = moved / static_cast<double>(std::max(1, target.vector_f32));
  return tile * rolling.computed(nest) + vectors * kMoveCycles / core_rates(target).hertz;
}

double map_fill_seconds(const nest::Nest &tile, const Target &target) {
  constexpr double kOperationsPerSlot = 2; // a multiply-add
  const double peak = target.gflops_per_unit * 1e9;
  const double slots = expression_slots(tile.post) * static_cast<double>(output_points(tile));
  return peak > 0 ? kOperationsPerSlot * slots / peak : 0;
}

namespace {

// What a map's fills read and write in memory beyond the tensor that its consumer would read:
// `executed` elements, each of every tensor that is as large as the map's result; the result once,
// where it is stored.
double map_traffic_seconds(const poly::Producer &map, double executed, const Target &target) {
  constexpr double kCacheOverMemory = 4;
  const nest::Nest &nest = map.nest;
  const auto points = static_cast<double>(output_points(nest));
  const double stored = static_cast<double>(size_bytes(slot_of(nest, nest.out).type));
  double read = -stored;
  for (const nest::Operand &extra : nest.extras)
    if (static_cast<double>(slot_of(nest, extra).elems) >= points)
      read += static_cast<double>(size_bytes(slot_of(nest, extra).type));
  const double again = executed > points ? (executed - points) / kCacheOverMemory : 0;
  const double bytes = std::max(read, 0.0) * (points + again) + (map.stored ? stored * points : 0);
  const bool is_cached =
      points * stored <= static_cast<double>(target.l2_bytes * target.compute_units);
  const double rate = target.gbytes_per_s * 1e9 * (is_cached ? kCacheOverMemory : 1);
  return rate > 0 ? bytes / rate : 0;
}

// Whether work-items run every producer as a nest of their blocks.
bool is_made_by_items(const schedule::Resolved &resolved, const Target &target) {
  const auto is_made = [&](const poly::Producer &p) { return p.feed == poly::Feed::Produce; };
  return target.lanes == LaneKind::WorkItem && !resolved.schedule.producers.empty() &&
         std::all_of(resolved.group.producers.begin(), resolved.group.producers.end(), is_made) &&
         std::none_of(resolved.gemms.begin(), resolved.gemms.end(),
                      [](const auto &gemm) { return gemm.has_value(); });
}

// By input of a member, whether the anchor reads the same tensor in place.
std::vector<bool> near_inputs(const poly::Group &group, poly::MemberId member) {
  std::vector<bool> near;
  for (const nest::Operand &input : member_nest(group, member).inputs) {
    const poly::SlotId slot = group_slot(group, member, input.slot);
    near.push_back(std::any_of(group.anchor.inputs.begin(), group.anchor.inputs.end(),
                               [&](const nest::Operand &other) {
                                 return group_slot(group, poly::kAnchor, other.slot) == slot;
                               }));
  }
  return near;
}

// A block's producers share its work-items, and the multiprocessor with other blocks.
Estimate predict_made_by_items(const schedule::Resolved &resolved, const Target &target) {
  const poly::Group &group = resolved.group;
  const std::vector<nest::Nest> &nests = resolved.nests;
  LaneCounts counts;
  std::vector<std::vector<InputPlace>> places;
  std::vector<double> runs = {1};
  for (const poly::MemberId m : members(group))
    places.push_back(input_places(nests[at(m)], member_schedule(resolved.schedule, m)));
  std::vector<MadeTile> made;
  for (const poly::MemberId m : producing_members(group)) {
    const poly::Producer &producer = producer_at(group, m);
    const nest::Nest &consumer = nests[at(producer.consumer)];
    const Schedule &own = member_schedule(resolved.schedule, producer.consumer);
    const double fed =
        fills(consumer, own, producer.input) / static_cast<double>(schedule::blocks(consumer, own));
    runs.push_back(runs[at(producer.consumer)] * fed);
    made.push_back({.view = {nests[at(m)], member_schedule(resolved.schedule, m), target, counts,
                             places[at(m)]},
                    .runs = runs.back(),
                    .is_near = near_inputs(group, m)});
  }
  return predict_work_items({group.anchor, resolved.schedule, target, counts, places.front()},
                            made);
}

} // namespace

Estimate predict(const poly::Group &group, const Schedule &schedule, const Target &target) {
  return is_alone(group) ? predict(group.anchor, schedule, target)
                         : predict(schedule::Resolved(group, schedule), target);
}

Estimate predict(const schedule::Resolved &resolved, const Target &target) {
  if (has_rows(resolved.group))
    return predict_rows(resolved, target);
  if (const auto &gemm = resolved.gemms[poly::kAnchor])
    return predict_gemm(*gemm, target, fed_ring(resolved));
  if (is_made_by_items(resolved, target))
    return predict_made_by_items(resolved, target);
  const poly::Group &group = resolved.group;
  const Schedule &schedule = resolved.schedule;
  const std::vector<nest::Nest> &nests = resolved.nests;
  Estimate all = predict(group.anchor, schedule, target);
  std::vector<double> runs = {1}; // of each member's tile nest, in the whole kernel
  for (std::size_t p = 0; p < group.producers.size(); ++p) {
    const poly::Producer &producer = group.producers[p];
    const std::size_t consumer = at(producer.consumer);
    runs.push_back(runs[consumer] * fills(nests[consumer],
                                          member_schedule(schedule, producer.consumer),
                                          producer.input));
    const poly::MemberId member = poly::member_of_producer(p);
    const schedule::Rolling rolling = producer.feed == poly::Feed::Map
                                          ? schedule::Rolling{}
                                          : schedule::rolling(group, schedule, member);
    const double tile = producer.feed == poly::Feed::Map
                            ? map_fill_seconds(nests[p + 1], target)
                            : rolled_seconds(predict_tile(producer.nest, nests[p + 1],
                                                          member_schedule(schedule, member), target)
                                                 .seconds,
                                             nests[p + 1], rolling, target);
    const double per_block = runs.back() * tile / static_cast<double>(all.blocks);
    all.seconds += per_block * all.waves;
    all.staging += per_block;
    const double traffic =
        producer.feed == poly::Feed::Map
            ? map_traffic_seconds(
                  producer, runs.back() * static_cast<double>(output_points(nests[p + 1])), target)
            : 0;
    all.seconds += traffic;
    all.memory += traffic;
    all.reasons.push_back({"producer", static_cast<double>(p + 1), "of the group"});
    all.reasons.push_back({"  its tile", tile * 1e6, "us"});
    all.reasons.push_back({"  tiles per block", runs.back() / static_cast<double>(all.blocks), ""});
    all.reasons.push_back({"  computed over needed",
                           runs.back() * rolling.computed(nests[p + 1]) *
                               nest::flops(nests[p + 1]) / nest::flops(producer.nest),
                           "times"});
    if (traffic > 0)
      all.reasons.push_back({"  what it reads and stores besides", traffic * 1e6, "us"});
  }
  return all;
}

double sum_again_seconds(double alone, const Target &target) {
  return alone * target.rates.sum_again_time_ratio;
}

Demands demands(const poly::Group &group, const Schedule &schedule, const Target &target) {
  const schedule::Resolved resolved(group, schedule);
  const auto &gemm = resolved.gemms[poly::kAnchor];
  Demands all = has_rows(group) ? row_demands(resolved, target)
                : gemm          ? gemm_demands(*gemm, target, fed_ring(resolved))
                                : demands(group.anchor, schedule, target);
  if (!gemm && !group.producers.empty())
    all.push_back({"producers", predict(resolved, target).seconds -
                                    predict(group.anchor, schedule, target).seconds});
  std::erase_if(all, [](const Demand &demand) { return demand.seconds <= 0; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Demand &a, const Demand &b) { return a.seconds > b.seconds; });
  return all;
}

} // namespace tilefuse::cost
