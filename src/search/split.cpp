// SPDX-License-Identifier: Apache-2.0
#include "search/split.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "base/index.h"
#include "cost/footprint.h"
#include "cost/model.h"
#include "cost/roofline.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/legal.h"
#include "schedule/result_tile.h"
#include "search/carry.h"
#include "search/joinable.h"
#include "target/features.h"
#include "target/tickets.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using nest::ReductionSplit;

constexpr double kIdle = 1.3;       // times the least time, above which splits are weighed
constexpr double kReadAgain = 0.25; // of computing, or longer waits for the third-level cache
constexpr double kGain = 0.97;      // of the time of the whole nest, that a split must reach
constexpr double kLoss = 1.05;      // the same with the cache to itself, if it gains otherwise
constexpr std::int64_t kShortestPart = 8; // reduced points
constexpr std::int64_t kMostParts = 1024;
constexpr std::int64_t kScratchPerUnit = std::int64_t{1} << 17; // accumulators
constexpr std::int64_t kScratchPerCore = std::int64_t{1} << 20; // the same with vector lanes
constexpr double kSearched = 0.95; // of the time of a carried schedule, that a search finds at best
constexpr double kAnyTime = std::numeric_limits<double>::infinity();

// Behind another launch: a queue takes both, others are submitted one by one.
double launch_seconds(const Target &target) {
  return target.launch_us * 1e-6 *
         (has(target, Feature::LaunchQueue) ? target.rates.following_launch_share : 1);
}

// Of the kernel that joins parts, right behind the one that computes them.
double joining_seconds(const cost::Estimate &estimate, const Target &target) {
  return has(target, Feature::EarlyLaunch) ? estimate.seconds - estimate.launch
                                           : following_seconds(estimate, target);
}

// The estimate of the same kernel where another thread, or another guest of a host, takes half of
// the second-level cache.
cost::Estimate crowded_estimate(const Nest &nest, const Candidate &candidate,
                                const Target &target) {
  if (target.lanes != LaneKind::Vector)
    return candidate.estimate;
  Target crowded = target;
  crowded.l2_bytes /= 2;
  return cost::predict(nest, candidate.schedule, crowded);
}

double crowded_seconds(const Nest &nest, const Candidate &candidate, const Target &target) {
  return crowded_estimate(nest, candidate, target).seconds - candidate.estimate.seconds;
}

double slot_bytes(const Nest &nest) {
  double bytes = 0;
  for (const nest::Slot &slot : nest.slots)
    bytes += static_cast<double>(slot.elems * size_bytes(slot.type));
  return bytes;
}

// What arithmetic at the peak of the units that the schedule uses and one trip over every slot
// take.
double least_seconds(const Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  return launch_seconds(target) +
         cost::roofline(nest::flops(nest), slot_bytes(nest), schedule, target).seconds();
}

// The largest divisor of `extent` up to `most`.
std::int64_t divisor(std::int64_t extent, std::int64_t most) {
  std::int64_t parts = std::min(extent, most);
  while (extent % parts != 0)
    --parts;
  return parts;
}

// About `wanted` parts, from the indices in this order.
ReductionSplit split_in(const Nest &nest, const std::vector<IndexId> &order, std::int64_t wanted) {
  ReductionSplit split;
  for (const IndexId i : order) {
    const std::int64_t parts = divisor(extent(nest, i), wanted);
    if (parts > 1)
      split.push_back({i, parts});
    wanted /= parts;
  }
  return split;
}

// A nest that was searched, and how it is best scheduled.
struct Searched {
  Nest nest;
  schedule::Schedule schedule;
};

// Whether the reduced indices of both and the fastest in the result have the same names.
bool is_alike(const Nest &a, const Nest &b) {
  const std::optional<IndexId> fastest_a = schedule::fastest_in_result(a);
  const std::optional<IndexId> fastest_b = schedule::fastest_in_result(b);
  return fastest_a && fastest_b && a.indices[*fastest_a].name == b.indices[*fastest_b].name &&
         std::equal(a.indices.begin() + a.output_indices, a.indices.end(),
                    b.indices.begin() + b.output_indices, b.indices.end(),
                    [](const nest::Index &x, const nest::Index &y) { return x.name == y.name; });
}

// How parts are searched and joined, and the seconds below which a partial nest is of interest.
struct Asked {
  Searches &searches;
  const Picker &picker;
  JoinIn join = JoinIn::Either;
  double below = kAnyTime;
  Candidate best(const Nest &nest) const { return *picker(nest, searches, kAnyTime); }
};

// The ways to join one split, and its partial nest where there are any.
struct Ways {
  std::vector<WeighedSplit> weighed;
  Searched partial;
};

// In a launch of its own, and in the same, as far as that is asked for, or left open where a launch
// costs something, and can be.
Ways ways_to_join(const Nest &nest, const ReductionSplit &split, const Asked &asked) {
  const JoinIn join = asked.join;
  const Target &target = asked.searches.target();
  Ways ways;
  std::vector<WeighedSplit> &weighed = ways.weighed;
  if (join == JoinIn::SameLaunch ||
      (join == JoinIn::Either && !has(target, Feature::EarlyLaunch))) {
    const nest::SplitNests nests = nest::split_reduction(nest, split, true);
    if (const std::optional<Joinable> inside =
            pick_joinable(nests.partial, nests.join, asked.searches)) {
      weighed.push_back({split, JoinIn::SameLaunch,
                         following_seconds(inside->partial.estimate, target), inside->join_seconds,
                         crowded_seconds(nests.partial, inside->partial, target)});
      ways.partial = {nests.partial, inside->partial.schedule};
    }
  }
  if (join == JoinIn::SameLaunch && !weighed.empty())
    return ways;
  const nest::SplitNests nests = nest::split_reduction(nest, split);
  const std::optional<Candidate> partial = asked.picker(nests.partial, asked.searches, asked.below);
  if (!partial)
    return ways;
  ways.partial = {nests.partial, partial->schedule};
  weighed.insert(weighed.begin(),
                 {split, JoinIn::OwnLaunch, following_seconds(partial->estimate, target),
                  joining_seconds(asked.best(nests.join).estimate, target),
                  crowded_seconds(nests.partial, *partial, target)});
  return ways;
}

class Weighing {
public:
  Weighing(const Nest &nest, const Target &target, const Picker &picker, JoinIn join)
      : nest_(nest), target_(target), join_(join),
        searches_(target), asked_{searches_, picker, join} {}

  SplitChoice run() {
    if (nest_.inputs.empty() || nest_.agg == program::Agg::Assign || most_parts() < 2)
      return std::move(choice_);
    const Candidate candidate = asked_.best(nest_);
    const cost::Estimate crowded = crowded_estimate(nest_, candidate, target_);
    const double whole = following_seconds(candidate.estimate, target_);
    choice_.weighed.push_back(
        {{}, JoinIn::OwnLaunch, whole, 0, crowded.seconds - candidate.estimate.seconds});
    best_ = kGain;
    is_idle_ = whole >= kIdle * least_seconds(nest_, candidate.schedule, target_);
    if (!is_idle_ && !reads_again(crowded))
      return std::move(choice_);
    if (!is_idle_) // else its parts are scheduled otherwise
      searched_.push_back({nest_, candidate.schedule});
    collect();
    for (auto next = most_promising(); next != waiting_.end(); next = most_promising())
      weigh(next);
    std::stable_sort(choice_.weighed.begin() + 1, choice_.weighed.end(),
                     [](const WeighedSplit &a, const WeighedSplit &b) {
                       return nest::part_count(a.split) < nest::part_count(b.split);
                     });
    return std::move(choice_);
  }

private:
  // A split that was not weighed, and what is known of its time.
  struct Waiting {
    ReductionSplit split;
    nest::SplitNests nests;
    double near = std::numeric_limits<double>::infinity(); // of the partial nest, as carried
    std::size_t carried = 0;                               // of searched_, how many that regards
    std::optional<double> join_seconds = std::nullopt;     // in a launch of its own
  };
  using Next = std::vector<Waiting>::iterator;

  // On a processor: whether what a step of the outputs reads is more than a crowded second-level
  // cache keeps for the next one. Parts of the reduction read less.
  bool reads_again(const cost::Estimate &crowded) const {
    return target_.lanes == LaneKind::Vector && crowded.memory > kReadAgain * crowded.compute;
  }

  std::int64_t most_parts() const {
    const std::int64_t units = std::max(1, target_.compute_units);
    const std::int64_t scratch =
        target_.lanes == LaneKind::Vector ? kScratchPerCore : kScratchPerUnit;
    return std::min({kMostParts, points_of(nest_, reduced_indices(nest_)) / kShortestPart,
                     units * scratch / nest::output_points(nest_)});
  }

  // Longest index first; slowest in the first input's memory first.
  std::vector<std::vector<IndexId>> orders() const {
    const nest::Linear in = nest::flat(nest_.inputs[0], nest_.indices.size());
    const Ids<IndexId> reduced = reduced_indices(nest_);
    std::vector<IndexId> by_extent(reduced.begin(), reduced.end());
    std::vector<IndexId> by_stride = by_extent;
    std::stable_sort(by_extent.begin(), by_extent.end(),
                     [&](IndexId a, IndexId b) { return extent(nest_, a) > extent(nest_, b); });
    std::stable_sort(by_stride.begin(), by_stride.end(), [&](IndexId a, IndexId b) {
      return std::llabs(in.coeff[a]) > std::llabs(in.coeff[b]);
    });
    return {by_extent, by_stride};
  }

  // All splits, fewer parts first.
  void collect() {
    for (const std::vector<IndexId> &order : orders())
      for (std::int64_t wanted = 2; wanted <= most_parts(); wanted *= 2) {
        const ReductionSplit split = split_in(nest_, order, wanted);
        const auto is_known = [&](const Waiting &one) { return one.split == split; };
        if (!split.empty() && std::none_of(waiting_.begin(), waiting_.end(), is_known))
          waiting_.push_back({split, nest::split_reduction(nest_, split)});
      }
  }

  // Of the whole nest's time, with the cache to itself or crowded, whichever gains more: how much of
  // it there is is not known. To itself it must not lose much.
  double share_of_whole(const WeighedSplit &one) const {
    const WeighedSplit &whole = choice_.weighed.front();
    const double alone = one.total() / whole.total();
    return alone > kLoss ? alone : std::min(alone, one.crowded_total() / whole.crowded_total());
  }

  // Regards what was searched since in the least seconds of a partial nest in the best schedules
  // of those like it.
  void carry_to(Waiting &one) const {
    for (; one.carried < searched_.size(); ++one.carried) {
      const Searched &from = searched_[one.carried];
      if (is_alike(from.nest, one.nests.partial))
        one.near = std::min(one.near, carried_seconds(from, one.nests.partial));
    }
  }

  double carried_seconds(const Searched &from, const Nest &partial) const {
    const std::optional<schedule::Schedule> carried = carry(from.nest, from.schedule, partial);
    if (!carried || illegal(partial, *carried, target_))
      return std::numeric_limits<double>::infinity();
    return following_seconds(cost::predict(partial, *carried, target_), target_);
  }

  // The share of the whole nest's time that a split reaches at best: by schedules of nests like the
  // partial one or, where none fits, by the bytes that pass.
  double promised_share(Waiting &one) {
    carry_to(one);
    WeighedSplit promised{one.split, JoinIn::OwnLaunch,
                          std::isinf(one.near) ? passing_seconds(one.nests.partial)
                                               : kSearched * one.near};
    if (!joins_in_own_launch() || share_of_whole(promised) >= best_)
      return share_of_whole(promised);
    if (!one.join_seconds)
      one.join_seconds = joining_seconds(asked_.best(one.nests.join).estimate, target_);
    promised.join_seconds = *one.join_seconds;
    return share_of_whole(promised);
  }

  // The split that promises most of those that may win; where nothing could be carried, the first
  // behind all others.
  Next most_promising() {
    Next best = waiting_.end();
    double least = std::numeric_limits<double>::infinity();
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
      const double share = promised_share(*one);
      const double rank = std::isinf(one->near) ? best_ : share;
      if (share >= best_ || rank >= least)
        continue;
      least = rank;
      best = one;
    }
    return best;
  }

  // Of what the nest touches, from the last cache of a GPU; those of a processor may hold it nearer.
  double passing_seconds(const Nest &nest) const {
    if (target_.lanes == LaneKind::Vector)
      return launch_seconds(target_);
    return launch_seconds(target_) +
           cost::touched_bytes(nest) / (target_.gbytes_per_s * 1e9 * target_.rates.l2_over_memory);
  }

  bool joins_in_own_launch() const {
    return join_ == JoinIn::OwnLaunch ||
           (join_ == JoinIn::Either &&
            (has(target_, Feature::EarlyLaunch) || tickets(target_) == Tickets::None));
  }

  // What a kernel of the partial nest takes at most where its split may win. Schedules that others
  // are carried from are found out in any case.
  double most_of_partial(const Waiting &one) const {
    if (!is_idle_ || !one.join_seconds)
      return kAnyTime;
    const WeighedSplit &whole = choice_.weighed.front();
    return best_ * std::max(whole.total(), whole.crowded_total()) - *one.join_seconds -
           launch_seconds(target_) + target_.launch_us * 1e-6;
  }

  void weigh(Next next) {
    Asked asked = asked_;
    asked.below = most_of_partial(*next);
    Ways ways = ways_to_join(nest_, next->split, asked);
    waiting_.erase(next);
    if (!is_idle_)
      searched_.push_back(std::move(ways.partial));
    for (WeighedSplit &weighed : ways.weighed) {
      const double share = share_of_whole(weighed);
      if (share < best_) {
        best_ = share;
        choice_.split = weighed.split;
        choice_.join = weighed.join;
      }
      choice_.weighed.push_back(std::move(weighed));
    }
  }

  const Nest &nest_;
  const Target &target_;
  const JoinIn join_;
  Searches searches_;
  const Asked asked_;
  SplitChoice choice_;
  bool is_idle_ = false; // the whole nest is far above its least time
  std::vector<Waiting> waiting_;
  std::vector<Searched> searched_; // what schedules are carried from
  double best_ = 0;                // share of the whole nest's time
};

} // namespace

double following_seconds(const cost::Estimate &estimate, const Target &target) {
  return estimate.seconds - target.launch_us * 1e-6 + launch_seconds(target);
}

SplitChoice choose_split(const Nest &nest, const Target &target, const Picker &picker,
                         JoinIn join) {
  return Weighing(nest, target, picker, join).run();
}

JoinIn choose_join(const Nest &nest, const ReductionSplit &split, const Target &target,
                   const Picker &picker, JoinIn join) {
  Searches searches(target);
  const std::vector<WeighedSplit> ways =
      ways_to_join(nest, split, {searches, picker, join}).weighed;
  return std::min_element(ways.begin(), ways.end(),
                          [](const auto &a, const auto &b) { return a.total() < b.total(); })
      ->join;
}

std::string to_text(const Nest &nest, const SplitChoice &choice) {
  if (choice.weighed.size() < 2)
    return "";
  std::string text = fmt::format("split {}\n", nest::to_text(nest, choice.split));
  for (const WeighedSplit &one : choice.weighed) {
    const std::string_view where =
        one.join == JoinIn::SameLaunch ? "join in the same launch" : "join";
    const std::string join =
        one.split.empty() ? "" : fmt::format(" + {:.1f} us to {}", one.join_seconds * 1e6, where);
    const bool is_chosen = one.split == choice.split && one.join == choice.join;
    text += fmt::format("  {} {:<20} predicted {:.1f} us{}\n", is_chosen ? '*' : ' ',
                        nest::to_text(nest, one.split), one.seconds * 1e6, join);
  }
  return text;
}

} // namespace tilefuse::search
