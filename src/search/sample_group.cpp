// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "search/groups.h"
#include "search/sample.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using schedule::Fill;
using schedule::Schedule;
using schedule::Split;

constexpr int kTries = 24;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class GroupSampler {
public:
  GroupSampler(const poly::Group &group, const Target &target, Random &random)
      : group_(group), target_(target), random_(random) {}

  std::optional<Schedule> draw() {
    for (int tried = 0; tried < kTries; ++tried) {
      Schedule schedule = draw_once();
      if (!illegal(group_, schedule, target_))
        return schedule;
    }
    return std::nullopt;
  }

private:
  Schedule draw_once();
  Schedule draw_member(const Nest &nest, int member);
  void feed(const Nest &nest, Schedule &schedule, int member);
  void share_items(const Nest &nest, Schedule &schedule, std::int64_t items);

  const poly::Group &group_;
  const Target &target_;
  Random &random_;
};

// Fed inputs are staged, once per block or in a chunk.
void GroupSampler::feed(const Nest &nest, Schedule &schedule, int member) {
  for (std::size_t k = 0; k < schedule.fills.size(); ++k) {
    const std::optional<int> producer = producer_of(group_, member, static_cast<int>(k));
    if (!producer)
      continue;
    const bool maps = group_.producers[at(*producer)].feed == poly::Feed::Map;
    schedule.fills[k] = maps ? Fill::Local : Fill::Produced;
    schedule.stages[k].twice = schedule.stages[k].twice && maps;
    const std::vector<int> chunks = chunked_indices(nest, schedule);
    if (schedule.stages[k].at < 0 && !chunks.empty() && random_.chance(50))
      schedule.stages[k].at = random_.of(chunks);
  }
}

// As many work-items as the anchor has, over one index.
void GroupSampler::share_items(const Nest &nest, Schedule &schedule, std::int64_t items) {
  schedule.lanes = target_.lanes;
  if (target_.lanes == LaneKind::Vector || group_size(schedule) == items)
    return;
  schedule.lane_parts.clear();
  for (int i = 0; i < nest.output_indices; ++i) {
    Split &split = schedule.splits[at(i)];
    split.lane = split.vec = 1;
    split.tile = split.step();
  }
  if (nest.output_indices == 0)
    return;
  Split &lane = schedule.splits[at(static_cast<int>(random_.between(0, nest.output_indices - 1)))];
  lane.lane = items;
  lane.tile = lane.step();
}

Schedule GroupSampler::draw_member(const Nest &nest, int member) {
  Schedule schedule = sample(nest, target_, random_).value_or(schedule::scalar_schedule(nest));
  feed(nest, schedule, member);
  return schedule;
}

Schedule GroupSampler::draw_once() {
  Schedule schedule = draw_member(group_.anchor, 0);
  schedule.producers.resize(group_.producers.size());
  std::vector<Nest> nests = {group_.anchor};
  if (illegal_alone(group_.anchor, schedule, target_))
    return schedule;
  for (std::size_t p = 0; p < group_.producers.size(); ++p) {
    const int member = static_cast<int>(p) + 1;
    nests.push_back(tile_nest(group_, schedule, member, nests));
    if (group_.producers[p].feed == poly::Feed::Map)
      continue;
    schedule.producers[p] = draw_member(nests.back(), member);
    share_items(nests.back(), schedule.producers[p], group_size(schedule));
    if (illegal_alone(nests.back(), schedule.producers[p], target_))
      return schedule;
  }
  return schedule;
}

} // namespace

std::optional<Schedule> sample(const poly::Group &group, const Target &target, Random &random) {
  return GroupSampler(group, target, random).draw();
}

} // namespace tilefuse::search
