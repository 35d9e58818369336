// SPDX-License-Identifier: Apache-2.0
#include "search/groups.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/divide.h"
#include "base/error.h"
#include "base/index.h"
#include "cost/group_model.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/dots.h"
#include "schedule/legal.h"
#include "schedule/legal_alone.h"
#include "schedule/rolling.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "search/forms/row_product_forms.h"
#include "search/item_groups.h"
#include "search/pick.h"
#include "search/runs.h"
#include "search/space.h"
#include "search/tile_sums.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using poly::kAnchor;
using poly::MemberId;
using schedule::Fill;
using schedule::Rolling;
using schedule::Schedule;
using schedule::Split;

constexpr std::size_t kFedForms = 4; // of a member that has producers
constexpr std::size_t kCoarse = 3;
constexpr double kPeakShare = 0.9; // of the target's peak that no producer passes
// Tilings that are tried in vain before a search ends: of a group with one producer, and at least.
// The best stands among the first 20 of some hundred in long chains, each of which costs more.
constexpr std::size_t kVain = 128;
constexpr std::size_t kLeastVain = 32;

// A member's schedule with those of all its producers, and what one tile of it takes.
struct Plan {
  std::map<MemberId, Schedule> members;
  double seconds = 0;
};

// A tile of a producer, how it rolls, and how often a run of its consumer on the busiest unit
// computes one.
struct Fed {
  MemberId producer{};
  Nest tile;
  Rolling rolling;
  double runs = 1;
};

// A schedule of a member, what it takes alone, and at least with its producers.
struct Priced {
  Schedule schedule;
  double seconds = 0;
  double least = 0;
  std::vector<Fed> fed = {};
};

class FusedSearch {
public:
  FusedSearch(const poly::Group &group, const Target &target)
      : group_(group), target_(target), unit_(target) {
    unit_.compute_units = 1;
    unit_.launch_us = 0;
  }

  std::optional<Schedule> run();

private:
  const Target &target_of(MemberId member) const { return member == kAnchor ? target_ : unit_; }
  std::size_t patience() const { return std::max(kLeastVain, kVain / group_.producers.size()); }
  bool is_fed(MemberId member) const;
  bool moves(const Nest &nest, MemberId member, IndexId index) const;
  std::vector<std::int64_t> tiles(const Nest &nest, MemberId member, const Schedule &form,
                                  IndexId index) const;
  void feed(Schedule &schedule, MemberId member) const;
  const std::vector<Schedule> &forms(MemberId member);
  std::optional<Schedule> fitted(const Schedule &form, const Nest &nest, MemberId member,
                                 const Rolling &rolling) const;
  std::vector<Schedule> tilings(const Nest &nest, MemberId member, const Schedule &whole,
                                std::size_t every) const;
  std::vector<Priced> priced(const Nest &nest, MemberId member, const Rolling &rolling);
  std::optional<Plan> best(const Nest &nest, MemberId member, const Rolling &rolling);
  std::optional<Priced> price(const Nest &nest, MemberId member, const Schedule &schedule,
                              const Rolling &rolling) const;
  std::optional<Plan> evaluate(MemberId member, const Priced &priced, double most);
  bool fits_memory(const Nest &nest, const Schedule &schedule) const;
  double least_seconds(const Fed &fed) const;
  bool suits_tiles(const Nest &nest, MemberId member, const Schedule &schedule) const;
  Schedule assemble(const Plan &plan) const;

  const poly::Group &group_;
  const Target &target_;
  Target unit_;
  std::map<MemberId, std::vector<Schedule>> forms_;
  // By member and extents of its tile nest, and how it rolls.
  std::map<std::pair<std::vector<std::int64_t>, double>, std::optional<Plan>> known_;
};

bool FusedSearch::is_fed(MemberId member) const {
  return std::any_of(group_.producers.begin(), group_.producers.end(),
                     [&](const poly::Producer &p) { return p.consumer == member; });
}

// Whether the tile of some producer moves with the index.
bool FusedSearch::moves(const Nest &nest, MemberId member, IndexId index) const {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (producer_of(group_, member, static_cast<int>(k)) &&
        nest::flat(nest.inputs[k], nest.indices.size()).coeff[index] != 0)
      return true;
  return false;
}

// Fed inputs are staged; a staged input has its padding, so nothing is left to be settled.
void FusedSearch::feed(Schedule &schedule, MemberId member) const {
  for (Split &split : schedule.splits)
    split.clip = split.edge = false;
  for (std::size_t k = 0; k < schedule.fills.size(); ++k)
    if (const std::optional<MemberId> p = producer_of(group_, member, static_cast<int>(k))) {
      const bool maps = producer_at(group_, *p).feed == poly::Feed::Map;
      schedule.fills[k] = maps ? Fill::Local : Fill::Produced;
      schedule.pipes[k] = {};
    }
}

// Register tiles and loop orders that are tried for the whole of the member alone.
const std::vector<Schedule> &FusedSearch::forms(MemberId member) {
  const auto [entry, is_new] = forms_.try_emplace(member);
  std::vector<Schedule> &found = entry->second;
  if (!is_new)
    return found;
  cost::LaneCounts counts;
  for (Schedule &form : Space(member_nest(group_, member), target_of(member), counts).forms()) {
    if (is_fed(member))
      feed(form, member);
    if (member != kAnchor && has_dot_rows(form)) // registers of rows are the anchor's
      continue;
    if (member != kAnchor) // its consumer's buffer takes the results
      form.store = schedule::Store::Direct;
    if (std::find(found.begin(), found.end(), form) == found.end())
      found.push_back(std::move(form));
  }
  return found;
}

// A form on a tile of the member: no more register copies than the tile has, and one block.
std::optional<Schedule> FusedSearch::fitted(const Schedule &form, const Nest &nest, MemberId member,
                                            const Rolling &rolling) const {
  Schedule own = form;
  if (rolling.index)
    own.splits[*rolling.index].roll = 1;
  for (const IndexId i : output_indices(nest)) {
    Split &split = own.splits[i];
    const std::int64_t extent = nest::extent(nest, i);
    split.keep = std::min(split.keep, ceil_div(extent, split.lane * split.vec));
    split.tile = ceil_div(extent, split.step()) * split.step();
  }
  if (suits_tiles(nest, member, own))
    return own;
  return std::nullopt;
}

// Steps doubled up to the whole; only the whole where a smaller tile would compute more.
std::vector<std::int64_t> FusedSearch::tiles(const Nest &nest, MemberId member,
                                             const Schedule &form, IndexId index) const {
  const std::int64_t step = form.splits[index].step();
  const std::int64_t whole = ceil_div(extent(nest, index), step) * step;
  std::vector<std::int64_t> sizes;
  const bool splits =
      moves(nest, member, index) && (member == kAnchor || !has_halo(group_, nest, member, index));
  for (std::int64_t tile = step; splits && tile < whole; tile *= 2)
    sizes.push_back(tile);
  sizes.push_back(whole);
  return sizes;
}

// The schedule with tiles of every size; with `every` other than 1, of every so-manieth.
std::vector<Schedule> FusedSearch::tilings(const Nest &nest, MemberId member, const Schedule &whole,
                                           std::size_t every) const {
  std::vector<Schedule> partial = {whole};
  const bool stays = member != kAnchor && schedule::rolled_index(whole).has_value();
  if (!is_fed(member) || stays)
    return partial;
  for (const IndexId i : output_indices(nest)) {
    const std::vector<std::int64_t> sizes = tiles(nest, member, whole, i);
    std::vector<Schedule> next;
    for (const Schedule &schedule : partial)
      for (std::size_t t = (sizes.size() - 1) % every; t < sizes.size(); t += every) {
        next.push_back(schedule);
        next.back().splits[i].tile = sizes[t];
      }
    partial = std::move(next);
  }
  return partial;
}

// What a tile of the member may have: tiles of every size for the forms that are best with a few.
std::vector<Priced> FusedSearch::priced(const Nest &nest, MemberId member, const Rolling &rolling) {
  std::vector<std::pair<double, Schedule>> ranked;
  for (const Schedule &form : forms(member))
    if (const std::optional<Schedule> whole = fitted(form, nest, member, rolling)) {
      double least = std::numeric_limits<double>::infinity();
      for (const Schedule &schedule : tilings(nest, member, *whole, kCoarse))
        if (const std::optional<Priced> priced = price(nest, member, schedule, rolling))
          least = std::min(least, priced->least);
      ranked.emplace_back(least, *whole);
    }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  if (is_fed(member) && ranked.size() > kFedForms)
    ranked.resize(kFedForms);
  std::vector<Priced> all;
  for (const auto &[least, whole] : ranked)
    for (const Schedule &tiling : tilings(nest, member, whole, 1))
      for (const Schedule &schedule :
           member == kAnchor ? runs(group_, tiling, target_) : std::vector{tiling})
        if (std::optional<Priced> one = price(nest, member, schedule, rolling))
          all.push_back(std::move(*one));
  std::stable_sort(all.begin(), all.end(),
                   [](const Priced &a, const Priced &b) { return a.least < b.least; });
  return all;
}

// No bodies for edges, and constants packed by steps with which every tile begins.
bool FusedSearch::suits_tiles(const Nest &nest, MemberId member, const Schedule &schedule) const {
  const Nest &whole = member_nest(group_, member);
  for (const IndexId i : output_indices(nest)) {
    const std::int64_t extent = nest::extent(nest, i);
    const Split &split = schedule.splits[i];
    if (split.roll == 1 && (split.edge || split.lane * split.vec > 1))
      return false;
    if (extent == nest::extent(whole, i))
      continue;
    bool packs = false;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k)
      packs = packs || (is_packed(schedule.fills[k]) &&
                        nest::flat(nest.inputs[k], nest.indices.size()).coeff[i] != 0);
    if (split.edge ||
        (packs && (extent % split.step() != 0 || nest::extent(whole, i) % extent != 0)))
      return false;
  }
  return true;
}

// The buffers of one member alone.
bool FusedSearch::fits_memory(const Nest &nest, const Schedule &schedule) const {
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (is_staged(schedule.fills[k]))
      bytes += stage_bytes(nest, schedule, static_cast<int>(k));
  return bytes <= target_.local_bytes;
}

// No schedule computes a tile in less.
double FusedSearch::least_seconds(const Fed &fed) const {
  const double peak = schedule::peak_gops(fed.tile, target_) * 1e9;
  const double operations = nest::flops(fed.tile) * fed.rolling.computed(fed.tile);
  return peak > 0 ? kPeakShare * operations / peak : 0;
}

// One schedule of a member alone, and at least that of its producers.
std::optional<Priced> FusedSearch::price(const Nest &nest, MemberId member,
                                         const Schedule &schedule, const Rolling &rolling) const {
  if (!fits_memory(nest, schedule) || illegal_alone(nest, schedule, target_of(member)))
    return std::nullopt;
  const cost::Estimate own =
      member == kAnchor ? cost::predict(nest, schedule, target_)
                        : cost::predict_tile(member_nest(group_, member), nest, schedule, unit_);
  Priced priced{.schedule = schedule,
                .seconds = cost::rolled_seconds(own.seconds, nest, rolling, target_)};
  const Rolling mine = member == kAnchor ? schedule::rolling(nest, schedule) : rolling;
  double produced = 0;
  for (const MemberId p : producing_members(group_)) {
    const poly::Producer &producer = producer_at(group_, p);
    if (producer.consumer != member)
      continue;
    const auto next = schedule::follow(group_, nest, schedule, mine, p);
    if (!next)
      return std::nullopt;
    Fed fed{.producer = p,
            .tile = tile_nest(producer, nest, schedule),
            .rolling = *next,
            .runs = cost::fills(nest, schedule, producer.input) / static_cast<double>(own.blocks) *
                    own.waves};
    if (producer.feed == poly::Feed::Map) {
      priced.seconds += fed.runs * cost::map_fill_seconds(fed.tile, target_);
      continue;
    }
    produced += fed.runs * least_seconds(fed);
    priced.fed.push_back(std::move(fed));
  }
  priced.least = priced.seconds + produced;
  return priced;
}

// The same with the best of its producers; nothing where it takes `most` seconds.
std::optional<Plan> FusedSearch::evaluate(MemberId member, const Priced &priced, double most) {
  Plan plan{{{member, priced.schedule}}, priced.seconds};
  double least = priced.least;
  for (const Fed &fed : priced.fed) {
    const std::optional<Plan> inner = best(fed.tile, fed.producer, fed.rolling);
    if (!inner)
      return std::nullopt;
    plan.seconds += fed.runs * inner->seconds;
    least += fed.runs * (inner->seconds - least_seconds(fed));
    if (least >= most)
      return std::nullopt;
    plan.members.insert(inner->members.begin(), inner->members.end());
  }
  return plan;
}

// Tilings in the order of what they take at least, until none can be better or many were not.
std::optional<Plan> FusedSearch::best(const Nest &nest, MemberId member, const Rolling &rolling) {
  const int along = rolling.index ? to_int(*rolling.index) : -1;
  std::pair<std::vector<std::int64_t>, double> key = {{to_int(member), along, rolling.advance},
                                                      rolling.tiles};
  for (const nest::Index &index : nest.indices)
    key.first.push_back(index.extent);
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  std::optional<Plan> chosen;
  std::size_t vain = 0;
  for (const Priced &one : priced(nest, member, rolling)) {
    const double most = chosen ? chosen->seconds : std::numeric_limits<double>::infinity();
    if (one.least >= most || (chosen && vain >= patience()))
      break;
    std::optional<Plan> plan = evaluate(member, one, most);
    const bool is_better =
        plan && (member != kAnchor || !illegal(group_, assemble(*plan), target_));
    vain = is_better ? 0 : vain + 1;
    if (is_better)
      chosen = std::move(plan);
  }
  return known_[key] = chosen;
}

Schedule FusedSearch::assemble(const Plan &plan) const {
  Schedule schedule = plan.members.at(kAnchor);
  schedule.producers.resize(group_.producers.size());
  for (const auto &[member, own] : plan.members)
    if (member != kAnchor)
      member_schedule(schedule, member) = own;
  return schedule;
}

// The quickest of the schedules of a group with rows.
std::optional<Schedule> pick_rows(const poly::Group &group, const Target &target) {
  std::optional<Schedule> best;
  double least = 0;
  for (Schedule &each : row_product_schedules(group, target)) {
    const double seconds = cost::predict(group, each, target).seconds;
    if (best && seconds >= least)
      continue;
    best = std::move(each);
    least = seconds;
  }
  return best;
}

std::optional<Schedule> FusedSearch::run() {
  if (target_.lanes == LaneKind::WorkItem)
    return pick_for_items(group_, target_);
  if (schedule::spread_of(group_)) // to windows of matrix units
    return std::nullopt;
  const std::optional<Plan> plan = best(group_.anchor, kAnchor, {});
  return plan ? std::optional(assemble(*plan)) : std::nullopt;
}

} // namespace

std::optional<Schedule> pick_fused(const poly::Group &group, const Target &target) {
  return has_rows(group) ? pick_rows(group, target) : FusedSearch(group, target).run();
}

Schedule pick(const poly::Group &group, const Target &target) {
  if (is_alone(group))
    return pick(group.anchor, target);
  if (!group.sums.empty()) {
    if (std::optional<Schedule> summing = pick_with_sums(group, target))
      return std::move(*summing);
    throw Error(ErrorCode::Unsupported,
                "no tile of '" + group.anchor.name + "' adds up the parts of its sums");
  }
  std::optional<Schedule> fused = pick_fused(group, target);
  if (!fused)
    throw Error(ErrorCode::Unsupported,
                "no tile of the producers of '" + group.anchor.name + "' fits the target");
  return std::move(*fused);
}

} // namespace tilefuse::search
