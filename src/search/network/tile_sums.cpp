// SPDX-License-Identifier: Apache-2.0
#include "search/network/tile_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/hash.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "cost/group_model.h"
#include "nest/index.h"
#include "poly/group_buffers.h"
#include "poly/sum_of_sums.h"
#include "program/origin.h"
#include "schedule/legal.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/tile_sums.h"
#include "search/groups.h"
#include "search/split.h"
#include "search/tile_sums.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

using poly::Group;
using poly::PlacedGroup;
using program::BufferId;
using schedule::Schedule;

// A sum of the result of a group: one nest, or two of which the second adds up the parts of the
// first. Numbers are places in the list.
struct Summed {
  std::size_t writer = 0;
  std::size_t first = 0;
  std::optional<std::size_t> second;
  nest::Nest whole;
  Indexed<poly::SlotId, BufferId> buffers; // by slot of the whole
  int result = 0;                          // its input that is the writer's result
  std::size_t last() const { return second.value_or(first); }
};

class Summing {
public:
  Summing(std::vector<PlacedGroup> groups, program::StoredProgram &stored, const Target &target,
          const SplitOptions &options, KeptChoices &kept)
      : groups_(std::move(groups)), stored_(stored), target_(target), options_(options),
        kept_(kept), is_gone_(groups_.size(), false) {
    for (const PlacedGroup &placed : groups_)
      reads_.push_back(poly::read_buffers(placed));
  }

  std::vector<PlacedGroup> run() {
    std::vector<Summed> all;
    for (std::size_t w = 0; w < groups_.size(); ++w)
      if (is_product(groups_[w].group))
        if (std::optional<Summed> summed = sum_behind(w))
          all.push_back(std::move(*summed));
    weigh(all);
    for (const Summed &summed : all)
      join(summed);
    std::vector<PlacedGroup> left;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (!is_gone_[g])
        left.push_back(std::move(groups_[g]));
    return left;
  }

private:
  static bool is_product(const Group &group) {
    return is_alone(group) && group.anchor.inputs.size() == 2 &&
           !schedule::no_core_roles(group.anchor, true);
  }

  std::vector<std::size_t> readers(BufferId buffer) const {
    std::vector<std::size_t> found;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (reads_[g].count(buffer) > 0)
        found.push_back(g);
    return found;
  }

  // A sum that the whole of a group is, of the result of one before it.
  std::optional<Summed> sum_behind(std::size_t writer) const {
    const BufferId result = poly::written_buffer(groups_[writer]);
    for (const std::size_t r : readers(result)) {
      const PlacedGroup &placed = groups_[r];
      if (!is_alone(placed.group) || placed.group.anchor.agg != program::Agg::Sum ||
          is_product(placed.group))
        continue;
      std::optional<Summed> summed = summed_by(r);
      summed->writer = writer;
      if (takes(*summed, result))
        return summed;
    }
    return std::nullopt;
  }

  std::optional<Summed> summed_by(std::size_t r) const {
    Summed summed{.first = r, .whole = groups_[r].group.anchor, .buffers = groups_[r].buffers};
    const BufferId parts = poly::written_buffer(groups_[r]);
    const std::vector<std::size_t> of_parts = readers(parts);
    if (of_parts.size() != 1 || stored_.buffers[at(parts)].role != program::Role::Temporary ||
        !is_alone(groups_[of_parts[0]].group))
      return summed;
    const PlacedGroup &second = groups_[of_parts[0]];
    std::optional<nest::Nest> whole = poly::sum_of_sums(summed.whole, second.group.anchor);
    if (!whole)
      return summed;
    summed.second = of_parts[0];
    summed.whole = std::move(*whole);
    for (const BufferId buffer : second.buffers)
      summed.buffers.push_back(buffer);
    return summed;
  }

  // Whether it reads the result once, and nothing that is there only behind the writer.
  bool takes(Summed &summed, BufferId result) const {
    int times = 0;
    std::set<BufferId> others;
    for (std::size_t k = 0; k < summed.whole.inputs.size(); ++k) {
      const BufferId buffer = summed.buffers[summed.whole.inputs[k].slot];
      if (buffer == result)
        summed.result = static_cast<int>(k);
      else
        others.insert(buffer);
      times += buffer == result ? 1 : 0;
    }
    for (std::size_t g = summed.writer; g < groups_.size(); ++g)
      for (const BufferId buffer : others)
        if (poly::writes(groups_[g], buffer))
          return false;
    return times == 1;
  }

  double seconds(const Group &whole) {
    double sum = 0;
    for (const Group &group : split_group(whole, target_, options_, nullptr, &kept_)) {
      const Schedule schedule =
          kept_.schedule(kPick, group, [&] { return search::pick(group, target_); });
      sum += following_seconds(cost::predict(group, schedule, target_), target_);
    }
    return sum;
  }

  // The group with the sum beside its result, whose parts are tiles of the schedule, and the nest
  // that joins them.
  struct Joined {
    Group group;
    nest::SplitNests nests;
  };
  std::optional<Joined> joined(const Summed &summed, const Schedule &schedule) const {
    const Group &writer = groups_[summed.writer].group;
    if (!has_core(schedule))
      return std::nullopt;
    std::optional<nest::SplitNests> parts =
        schedule::tile_parts(gemm_of(writer.anchor, schedule), summed.whole, summed.result);
    if (!parts)
      return std::nullopt;
    Joined made{writer, std::move(*parts)};
    poly::TileSum sum{made.nests.partial, {}};
    poly::SlotId next = writer.anchor.slots.next_id();
    std::vector<BufferId> named(groups_[summed.writer].buffers.begin(),
                                groups_[summed.writer].buffers.end());
    for (const std::optional<poly::SlotId> from : made.nests.partial_slots) {
      const auto known =
          from ? std::find(named.begin(), named.end(), summed.buffers[*from]) : named.end();
      if (known != named.end()) {
        sum.slots.push_back(static_cast<poly::SlotId>(known - named.begin()));
        continue;
      }
      named.push_back(from ? summed.buffers[*from] : program::kNoBuffer);
      sum.slots.push_back(next);
      next = static_cast<poly::SlotId>(named.size());
    }
    made.group.sums.push_back(std::move(sum));
    return broken_rule(made.group) ? std::nullopt : std::optional(std::move(made));
  }

  // The schedule with which both kernels are quicker than those that there are; or none is.
  std::optional<Schedule> quickest(const Summed &summed) {
    const Group &writer = groups_[summed.writer].group;
    double least = seconds(writer) + seconds(groups_[summed.first].group);
    if (summed.second)
      least += seconds(groups_[*summed.second].group);
    std::optional<Schedule> best;
    for (const Schedule &schedule : tile_sum_schedules(writer.anchor, target_)) {
      const std::optional<Joined> made = joined(summed, schedule);
      const std::optional<Schedule> fitted =
          made ? fit_tile_sums(made->group, schedule, target_) : std::nullopt;
      if (!fitted)
        continue;
      double both = following_seconds(cost::predict(made->group, *fitted, target_), target_);
      if (both < least)
        both += seconds({made->nests.join});
      if (both >= least)
        continue;
      least = both;
      best = fitted;
    }
    return best;
  }

  std::string question(const Summed &summed) const {
    return "sum tiles " + content_hash(nest::to_text(summed.whole));
  }

  std::optional<Schedule> choice(const Summed &summed) {
    return kept_.schedule_if_any(question(summed), groups_[summed.writer].group,
                                 [&] { return quickest(summed); });
  }

  // Asks for each once, on all threads, so that `kept` has the answers.
  void weigh(const std::vector<Summed> &all) {
    std::map<std::string, const Summed *> distinct;
    for (const Summed &summed : all)
      distinct.emplace(question(summed) + poly::to_text(groups_[summed.writer].group), &summed);
    std::vector<const Summed *> once;
    for (const auto &[text, summed] : distinct)
      once.push_back(summed);
    ThreadPool pool(available_threads());
    pool.parallel_for(static_cast<std::int64_t>(once.size()),
                      [&](int, std::int64_t i) { choice(*once[at(i)]); });
  }

  void join(const Summed &summed) {
    PlacedGroup &writer = groups_[summed.writer];
    const std::optional<Schedule> schedule = choice(summed);
    std::optional<Joined> made = schedule ? joined(summed, *schedule) : std::nullopt;
    if (!made)
      return;
    const auto scratch = static_cast<BufferId>(stored_.buffers.size());
    const nest::Slot &slot = made->nests.join.slots[made->nests.join.inputs[0].slot];
    stored_.buffers.push_back({.type = slot.type, .elems = slot.elems});
    const auto buffer_of = [&](std::optional<poly::SlotId> from) {
      return from ? summed.buffers[*from] : scratch;
    };
    kept_.note(kPick, made->group, *schedule);
    const poly::TileSum &sum = made->group.sums[0];
    for (const poly::SlotId s : sum.slots.ids())
      if (sum.slots[s] == writer.buffers.next_id())
        writer.buffers.push_back(buffer_of(made->nests.partial_slots[at(s)]));
    writer.group = std::move(made->group);
    writer.origin = program::join_origins(writer.origin, groups_[summed.first].origin);
    PlacedGroup &last = groups_[summed.last()];
    last.group = {std::move(made->nests.join)};
    last.buffers.clear();
    for (const std::optional<poly::SlotId> from : made->nests.join_slots)
      last.buffers.push_back(buffer_of(from));
    if (summed.second)
      is_gone_[summed.first] = true;
  }

  std::vector<PlacedGroup> groups_;
  program::StoredProgram &stored_;
  const Target &target_;
  const SplitOptions &options_;
  KeptChoices &kept_;
  std::vector<bool> is_gone_;
  std::vector<std::set<BufferId>> reads_; // by group, as they were
};

} // namespace

std::vector<PlacedGroup> sum_tiles(std::vector<PlacedGroup> groups, program::StoredProgram &stored,
                                   const Target &target, const SplitOptions &options,
                                   KeptChoices &kept) {
  if (!has(target, Feature::WarpgroupMatrix) || options.split != "auto" ||
      !options.algorithm.empty())
    return groups;
  return Summing(std::move(groups), stored, target, options, kept).run();
}

} // namespace tilefuse::search
