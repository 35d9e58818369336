// SPDX-License-Identifier: Apache-2.0
#include "search/sample_group.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/legal_alone.h"
#include "schedule/rolling.h"
#include "search/forms/copies.h"
#include "search/groups.h"
#include "search/sample.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using poly::kAnchor;
using poly::MemberId;
using schedule::Fill;
using schedule::Schedule;
using schedule::Split;

constexpr int kTries = 24;

class GroupSampler {
public:
  GroupSampler(const poly::Group &group, const Target &target, Random &random)
      : group_(group), target_(target), random_(random) {}

  std::optional<Schedule> draw() {
    for (int tried = 0; tried < kTries; ++tried) {
      Schedule schedule = draw_once();
      if (!assign_copies(group_, schedule, target_))
        return schedule;
    }
    return std::nullopt;
  }

private:
  Schedule draw_once();
  Schedule draw_member(const Nest &nest, MemberId member);
  void feed(const Nest &nest, Schedule &schedule, MemberId member);
  void roll(Schedule &anchor);
  void follow(const Nest &consumer, const Schedule &by, const Nest &nest, MemberId member,
              Schedule &schedule);
  void share_items(const Nest &nest, Schedule &schedule, std::int64_t items);

  const poly::Group &group_;
  const Target &target_;
  Random &random_;
};

// Fed inputs are staged, once per block or in a chunk.
void GroupSampler::feed(const Nest &nest, Schedule &schedule, MemberId member) {
  clear_copies(schedule);
  for (std::size_t k = 0; k < schedule.fills.size(); ++k) {
    const std::optional<MemberId> producer = producer_of(group_, member, static_cast<int>(k));
    if (!producer)
      continue;
    const bool maps = producer_at(group_, *producer).feed == poly::Feed::Map;
    schedule.fills[k] = maps ? Fill::Local : Fill::Produced;
    if (!maps && schedule.pipes[k].is_double_buffered())
      schedule.pipes[k].stages = 1;
    const std::vector<nest::IndexId> chunks = chunked_indices(nest, schedule);
    if (!schedule.pipes[k].at && !chunks.empty() && random_.chance(50))
      schedule.pipes[k].at = random_.of(chunks);
  }
}

// Several tiles in a block along an index that moves a produced input.
void GroupSampler::roll(Schedule &anchor) {
  const Nest &nest = group_.anchor;
  if (target_.lanes != LaneKind::Vector || nest.output_indices == 0 || random_.chance(50))
    return;
  const int first = static_cast<int>(random_.between(0, nest.output_indices - 1));
  for (const nest::IndexId n : output_indices(nest)) {
    const nest::IndexId i{(first + to_int(n)) % nest.output_indices};
    Schedule rolled = anchor;
    Split &split = rolled.splits[i];
    split.tile = random_.chance(50) ? split.tile : split.step();
    const std::int64_t tiles = (extent(nest, i) + split.tile - 1) / split.tile;
    split.roll = random_.between(std::min<std::int64_t>(tiles, 2), tiles);
    for (std::size_t k = 0; k < rolled.fills.size(); ++k)
      if (rolled.fills[k] == Fill::Produced)
        rolled.pipes[k] = {};
    if (tiles > 1 && !wrong_roll(group_, {nest}, rolled, kAnchor)) {
      anchor = rolled;
      return;
    }
  }
}

// A producer of what rolls takes its rows whole, and others' rows once.
void GroupSampler::follow(const Nest &consumer, const Schedule &by, const Nest &nest,
                          MemberId member, Schedule &schedule) {
  const auto rolling = schedule::follow(group_, consumer, by, {}, member);
  if (!rolling || !rolling->index)
    return;
  Split &rows = schedule.splits[*rolling->index];
  rows.lane = rows.vec = 1;
  rows.edge = false;
  rows.roll = 1;
  const auto produces = [](Fill fill) { return fill == Fill::Produced; };
  const bool is_fed = std::any_of(schedule.fills.begin(), schedule.fills.end(), produces);
  for (const nest::IndexId i : output_indices(nest)) {
    Split &split = schedule.splits[i];
    if (is_fed || i == rolling->index)
      split.tile = (extent(nest, i) + split.step() - 1) / split.step() * split.step();
  }
  for (std::size_t k = 0; k < schedule.fills.size(); ++k)
    if (produces(schedule.fills[k]))
      schedule.pipes[k] = {};
}

// As many work-items as the anchor has, over one index.
void GroupSampler::share_items(const Nest &nest, Schedule &schedule, std::int64_t items) {
  schedule.lanes = target_.lanes;
  if (target_.lanes == LaneKind::Vector || group_size(schedule) == items)
    return;
  schedule.lane_parts.clear();
  for (const nest::IndexId i : nest.indices.ids()) {
    Split &split = schedule.splits[i];
    split.lane = split.vec = 1;
    split.tile = is_output(nest, i) ? split.step() : split.tile;
  }
  if (nest.output_indices == 0)
    return;
  Split &lane =
      schedule.splits[static_cast<nest::IndexId>(random_.between(0, nest.output_indices - 1))];
  lane.lane = items;
  lane.tile = lane.step();
}

Schedule GroupSampler::draw_member(const Nest &nest, MemberId member) {
  Schedule schedule = sample(nest, target_, random_).value_or(schedule::scalar_schedule(nest));
  feed(nest, schedule, member);
  return schedule;
}

Schedule GroupSampler::draw_once() {
  Schedule schedule = draw_member(group_.anchor, kAnchor);
  schedule.producers.resize(group_.producers.size());
  std::vector<Nest> nests = {group_.anchor};
  roll(schedule);
  if (illegal_alone(group_.anchor, schedule, target_))
    return schedule;
  for (const MemberId member : producing_members(group_)) {
    nests.push_back(tile_nest(group_, schedule, member, nests));
    const poly::Producer &producer = producer_at(group_, member);
    if (producer.feed == poly::Feed::Map)
      continue;
    Schedule &own = member_schedule(schedule, member);
    own = draw_member(nests.back(), member);
    share_items(nests.back(), own, group_size(schedule));
    follow(nests[at(producer.consumer)], member_schedule(schedule, producer.consumer), nests.back(),
           member, own);
    if (illegal_alone(nests.back(), own, target_))
      return schedule;
  }
  return schedule;
}

} // namespace

std::optional<Schedule> sample(const poly::Group &group, const Target &target, Random &random) {
  return GroupSampler(group, target, random).draw();
}

} // namespace tilefuse::search
