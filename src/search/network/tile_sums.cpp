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
struct Sum {
  std::size_t first = 0;
  std::optional<std::size_t> second;
  nest::Nest whole;
  Indexed<poly::SlotId, BufferId> buffers; // by slot of the whole
  int result = 0;                          // its input that is the writer's result
  std::size_t last() const { return second.value_or(first); }
};

// A group and sums of its result; its nest with what these read at each pixel among its operands, and
// the nest's buffers.
struct Summed {
  std::size_t writer = 0;
  std::vector<Sum> sums;
  nest::Nest anchor;
  Indexed<poly::SlotId, BufferId> buffers;
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
    std::vector<std::vector<Summed>> all;
    for (std::size_t w = 0; w < groups_.size(); ++w)
      if (is_product(groups_[w].group))
        all.push_back(offers(w));
    weigh(all);
    for (const std::vector<Summed> &offers : all)
      join(offers);
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

  // The writer with all sums of its result, then with fewer.
  std::vector<Summed> offers(std::size_t writer) const {
    std::vector<Summed> found = {{.writer = writer,
                                  .anchor = groups_[writer].group.anchor,
                                  .buffers = groups_[writer].buffers}};
    const BufferId result = poly::written_buffer(groups_[writer]);
    for (const std::size_t r : readers(result)) {
      const PlacedGroup &placed = groups_[r];
      if (!is_alone(placed.group) || placed.group.anchor.agg != program::Agg::Sum ||
          is_product(placed.group))
        continue;
      Sum sum = sum_of(r);
      if (!takes(sum, writer, result))
        continue;
      if (std::optional<Summed> more = with(found.front(), std::move(sum)))
        found.insert(found.begin(), std::move(*more));
    }
    found.pop_back();
    return found;
  }

  static std::optional<Summed> with(Summed summed, Sum sum) {
    std::vector<poly::SlotId> taken;
    std::optional<nest::Nest> anchor =
        schedule::with_operands(summed.anchor, sum.whole, sum.result, taken);
    if (!anchor)
      return std::nullopt;
    summed.anchor = std::move(*anchor);
    for (const poly::SlotId slot : taken)
      summed.buffers.push_back(sum.buffers[slot]);
    summed.sums.push_back(std::move(sum));
    return summed;
  }

  // The sum that the whole of a group is, with what follows.
  Sum sum_of(std::size_t r) const {
    Sum summed{.first = r, .whole = groups_[r].group.anchor, .buffers = groups_[r].buffers};
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
  bool takes(Sum &sum, std::size_t writer, BufferId result) const {
    int times = 0;
    std::set<BufferId> others;
    for (std::size_t k = 0; k < sum.whole.inputs.size(); ++k) {
      const BufferId buffer = sum.buffers[sum.whole.inputs[k].slot];
      if (buffer == result)
        sum.result = static_cast<int>(k);
      else
        others.insert(buffer);
      times += buffer == result ? 1 : 0;
    }
    for (std::size_t g = writer; g < groups_.size(); ++g)
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

  // The group with sums beside its result, whose parts are tiles of the schedule; its buffers, none
  // for scratch; and by sum the nest that joins its parts.
  struct Joined {
    Group group;
    std::vector<BufferId> buffers;
    std::vector<nest::SplitNests> nests;
  };
  std::optional<Joined> joined(const Summed &summed, const Schedule &schedule) const {
    if (!has_core(schedule))
      return std::nullopt;
    Joined made{{summed.anchor}, {summed.buffers.begin(), summed.buffers.end()}, {}};
    for (const Sum &sum : summed.sums) {
      std::optional<nest::SplitNests> parts =
          schedule::tile_parts(gemm_of(summed.anchor, schedule), sum.whole, sum.result);
      if (!parts)
        return std::nullopt;
      made.group.sums.push_back({parts->partial, slots_of(sum, *parts, made.buffers)});
      made.nests.push_back(std::move(*parts));
    }
    return broken_rule(made.group) ? std::nullopt : std::optional(std::move(made));
  }

  // The group's slots of those of a partial nest; further buffers are appended to the group's.
  static Indexed<poly::SlotId, poly::SlotId> slots_of(const Sum &sum, const nest::SplitNests &parts,
                                                      std::vector<BufferId> &named) {
    Indexed<poly::SlotId, poly::SlotId> slots;
    for (const std::optional<poly::SlotId> from : parts.partial_slots) {
      const BufferId buffer = from ? sum.buffers[*from] : program::kNoBuffer;
      const auto known = from ? std::find(named.begin(), named.end(), buffer) : named.end();
      slots.push_back(static_cast<poly::SlotId>(known - named.begin()));
      if (known == named.end())
        named.push_back(buffer);
    }
    return slots;
  }

  // Of the kernels that there are.
  double seconds_apart(const Summed &summed) {
    double all = seconds(groups_[summed.writer].group);
    for (const Sum &sum : summed.sums) {
      all += cost::sum_again_seconds(seconds(groups_[sum.first].group), target_);
      if (sum.second)
        all += seconds(groups_[*sum.second].group);
    }
    return all;
  }

  // The schedule with which all kernels are quicker than those that there are; or none is.
  std::optional<Schedule> quickest(const Summed &summed) {
    double least = seconds_apart(summed);
    std::optional<Schedule> best;
    for (const Schedule &schedule : tile_sum_schedules(summed.anchor, target_)) {
      const std::optional<Joined> made = joined(summed, schedule);
      const std::optional<Schedule> fitted =
          made ? fit_tile_sums(made->group, schedule, target_) : std::nullopt;
      if (!fitted)
        continue;
      double all = following_seconds(cost::predict(made->group, *fitted, target_), target_);
      for (std::size_t k = 0; k < made->nests.size() && all < least; ++k)
        all += seconds({made->nests[k].join});
      if (all >= least)
        continue;
      least = all;
      best = fitted;
    }
    return best;
  }

  static std::string question(const Summed &summed) {
    std::string text;
    for (const Sum &sum : summed.sums)
      text += nest::to_text(sum.whole);
    return "sum tiles " + content_hash(text);
  }

  std::optional<Schedule> choice(const Summed &summed) {
    return kept_.schedule_if_any(question(summed), groups_[summed.writer].group,
                                 [&] { return quickest(summed); });
  }

  // Asks for each once, on all threads, so that `kept` has the answers.
  void weigh(const std::vector<std::vector<Summed>> &all) {
    std::map<std::string, const Summed *> distinct;
    for (const std::vector<Summed> &offers : all)
      for (const Summed &summed : offers)
        distinct.emplace(question(summed) + poly::to_text(groups_[summed.writer].group), &summed);
    std::vector<const Summed *> once;
    for (const auto &[text, summed] : distinct)
      once.push_back(summed);
    ThreadPool pool(available_threads());
    pool.parallel_for(static_cast<std::int64_t>(once.size()),
                      [&](int, std::int64_t i) { choice(*once[at(i)]); });
  }

  // Takes the first offer that is quicker.
  void join(const std::vector<Summed> &offers) {
    for (const Summed &summed : offers) {
      const std::optional<Schedule> schedule = choice(summed);
      std::optional<Joined> made = schedule ? joined(summed, *schedule) : std::nullopt;
      if (!made)
        continue;
      kept_.note(kPick, made->group, *schedule);
      take(summed, std::move(*made));
      return;
    }
  }

  void take(const Summed &summed, Joined made) {
    PlacedGroup &writer = groups_[summed.writer];
    for (std::size_t k = 0; k < made.nests.size(); ++k) {
      const Sum &sum = summed.sums[k];
      nest::SplitNests &nests = made.nests[k];
      const auto scratch = static_cast<BufferId>(stored_.buffers.size());
      const nest::Slot &slot = nests.join.slots[nests.join.inputs[0].slot];
      stored_.buffers.push_back({.type = slot.type, .elems = slot.elems});
      const poly::TileSum &tiles = made.group.sums[k];
      made.buffers[at(tiles.slots[tiles.nest.out.slot])] = scratch;
      writer.origin = program::join_origins(writer.origin, groups_[sum.first].origin);
      PlacedGroup &last = groups_[sum.last()];
      last.group = {std::move(nests.join)};
      last.buffers.clear();
      for (const std::optional<poly::SlotId> from : nests.join_slots)
        last.buffers.push_back(from ? sum.buffers[*from] : scratch);
      if (sum.second)
        is_gone_[sum.first] = true;
    }
    writer.group = std::move(made.group);
    writer.buffers.clear();
    for (const BufferId buffer : made.buffers)
      writer.buffers.push_back(buffer);
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
