// SPDX-License-Identifier: Apache-2.0
#include "search/item_groups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/index.h"
#include "cost/group_model.h"
#include "nest/maps_inputs.h"
#include "schedule/legal_alone.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "search/forms/copies.h"
#include "search/forms/fed_forms.h"
#include "search/pick.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using poly::kAnchor;
using poly::MemberId;
using schedule::Fill;
using schedule::Schedule;

constexpr std::size_t kEveryForm = 4096;
constexpr int kAnchors = 4;  // block tiles of the anchor that are priced with their producers
constexpr int kAttempts = 8; // that are completed or not
constexpr int kTilings = 2;  // of a producer that has producers
// The same of maps whose statistics are made: what these take stands in no price of the map alone.
constexpr int kMapAnchors = 32;
constexpr int kMapAttempts = 96;

// Schedules of a member and of all that feeds it.
using Plan = std::map<MemberId, Schedule>;

bool is_mapped(const poly::Group &group) {
  return std::all_of(group.producers.begin(), group.producers.end(), [](const poly::Producer &p) {
    return p.feed != poly::Feed::Produce && p.consumer == kAnchor;
  });
}

class ItemSearch {
public:
  ItemSearch(const poly::Group &group, const Target &target) : group_(group), target_(target) {}

  std::optional<Schedule> run() {
    if (!is_mapped(group_))
      return produced();
    std::vector<Candidate> best = mapped_candidates(group_, target_, 1);
    return best.empty() ? std::nullopt : std::optional(std::move(best.front().schedule));
  }

private:
  std::optional<Schedule> produced() {
    std::optional<Schedule> best;
    double least = std::numeric_limits<double>::infinity();
    const bool is_map = nest::maps_inputs(group_.anchor);
    const int most_priced = is_map ? kMapAnchors : kAnchors;
    const int most_tried = is_map ? kMapAttempts : kAttempts;
    int priced = 0;
    int tried = 0;
    each_form(group_.anchor, kAnchor, 0, [&](const Schedule &form) {
      const std::optional<Plan> plan = complete(group_.anchor, kAnchor, form);
      Schedule schedule = plan ? assemble(*plan) : Schedule();
      if (!plan || assign_copies(group_, schedule, target_))
        return ++tried == most_tried;
      const double seconds = cost::predict(group_, schedule, target_).seconds;
      if (seconds < least) {
        least = seconds;
        best = std::move(schedule);
      }
      return ++priced == most_priced || ++tried == most_tried;
    });
    return best;
  }

  // The member's schedules with its fed inputs staged, once a block or chunk by chunk, best first,
  // until `take` has enough; of `items` work-items, 0: any number.
  void each_form(const Nest &nest, MemberId member, std::int64_t items,
                 const std::function<bool(const Schedule &)> &take) const {
    std::vector<Schedule> seen;
    std::vector<Candidate> forms = candidates(nest, target_, kEveryForm);
    // Priced as if a tile had the device: alone in a block it is quickest by matrix instructions.
    std::stable_partition(forms.begin(), forms.end(),
                          [](const Candidate &candidate) { return has_core(candidate.schedule); });
    for (const Candidate &candidate : forms) {
      const bool is_alone = has_core(candidate.schedule) &&
                            (member == kAnchor || is_wgmma(*candidate.schedule.core.op));
      if (is_alone || (items > 0 && group_size(candidate.schedule) != items))
        continue;
      for (const bool by_chunks : {true, false}) {
        Schedule own = candidate.schedule;
        feed(own, member, by_chunks);
        if (member != kAnchor && !has_core(own)) // its consumer's buffer takes the results
          own.store = schedule::Store::Direct;
        if (std::find(seen.begin(), seen.end(), own) != seen.end())
          continue;
        seen.push_back(own);
        if (fits(nest, own) && !illegal_alone(nest, own, target_) && take(own))
          return;
      }
    }
  }

  // Nothing is staged ahead, which would want what a producer has not made yet.
  void feed(Schedule &own, MemberId member, bool by_chunks) const {
    clear_copies(own);
    for (schedule::Pipe &stage : own.pipes)
      if (stage.is_async() && !has_core(own))
        stage = {.layout = stage.layout, .at = stage.at};
    for (std::size_t k = 0; k < own.fills.size(); ++k) {
      const std::optional<MemberId> p = producer_of(group_, member, static_cast<int>(k));
      if (!p)
        continue;
      const bool maps = producer_at(group_, *p).feed == poly::Feed::Map;
      own.fills[k] = maps ? Fill::Local : Fill::Produced;
      own.pipes[k] = {.at = by_chunks ? own.pipes[k].at : std::nullopt};
      for (schedule::Split &split : own.splits)
        split.clip = split.edge = false;
    }
  }

  bool fits(const Nest &nest, const Schedule &own) const {
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k)
      if (is_staged(own.fills[k]))
        bytes += stage_bytes(nest, own, static_cast<int>(k));
    return bytes <= target_.local_bytes;
  }

  // With schedules of everything that feeds the member under its own.
  std::optional<Plan> complete(const Nest &nest, MemberId member, const Schedule &own) {
    Plan plan = {{member, own}};
    for (const MemberId p : producing_members(group_)) {
      const poly::Producer &producer = producer_at(group_, p);
      if (producer.consumer != member || producer.feed == poly::Feed::Map)
        continue;
      const std::optional<Plan> inner = best_of(tile_of(nest, own, p), p, group_size(own));
      if (!inner)
        return std::nullopt;
      plan.insert(inner->begin(), inner->end());
    }
    return plan;
  }

  Nest tile_of(const Nest &consumer, const Schedule &own, MemberId producer) const {
    const MemberId member = producer_at(group_, producer).consumer;
    const std::vector<Nest> before(at(member) + 1, consumer);
    return tile_nest(group_, assemble({{member, own}}), producer, before);
  }

  std::optional<Plan> best_of(const Nest &tile, MemberId member, std::int64_t items) {
    std::vector<std::int64_t> key = {to_int(member), items};
    for (const nest::Index &index : tile.indices)
      key.push_back(index.extent);
    if (const auto known = known_.find(key); known != known_.end())
      return known->second;
    std::optional<Plan> chosen;
    int tried = 0;
    each_form(tile, member, items, [&](const Schedule &form) {
      chosen = complete(tile, member, form);
      return chosen || ++tried == kTilings;
    });
    return known_[key] = chosen;
  }

  Schedule assemble(const Plan &plan) const {
    Schedule schedule;
    if (const auto anchor = plan.find(kAnchor); anchor != plan.end())
      schedule = anchor->second;
    schedule.producers.resize(group_.producers.size());
    for (const auto &[member, own] : plan)
      if (member != kAnchor)
        member_schedule(schedule, member) = own;
    return schedule;
  }

  const poly::Group &group_;
  const Target &target_;
  std::map<std::vector<std::int64_t>, std::optional<Plan>> known_; // by member, items and extents
};

} // namespace

std::vector<Candidate> mapped_candidates(const poly::Group &group, const Target &target,
                                         std::size_t count) {
  std::vector<Candidate> found;
  double least = std::numeric_limits<double>::infinity();
  const auto add = [&](Schedule schedule) {
    cost::Estimate estimate = cost::predict(group, schedule, target);
    least = std::min(least, estimate.seconds);
    found.push_back({std::move(schedule), std::move(estimate)});
  };
  for (Schedule &schedule : search::fed_core_schedules(group, target, group.anchor.tf32))
    add(std::move(schedule));
  // A copy spreads to windows of matrix units alone.
  const bool spreads = schedule::spread_of(group).has_value();
  std::size_t others = 0;
  for (const Candidate &candidate :
       spreads ? std::vector<Candidate>() : candidates(group.anchor, target, kEveryForm)) {
    if (others >= count && candidate.estimate.seconds >= least)
      break;
    Schedule schedule = candidate.schedule;
    schedule.producers.resize(group.producers.size());
    if (has_core(schedule) || assign_copies(group, schedule, target))
      continue;
    add(std::move(schedule));
    ++others;
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate &a, const Candidate &b) {
    return a.estimate.seconds < b.estimate.seconds;
  });
  return found;
}

std::optional<Schedule> pick_for_items(const poly::Group &group, const Target &target) {
  return ItemSearch(group, target).run();
}

} // namespace tilefuse::search
