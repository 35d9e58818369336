// SPDX-License-Identifier: Apache-2.0
#include "search/network/split_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "cost/model.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/split.h"

namespace tilefuse::search {
namespace {

using nest::ReductionSplit;

// Picks as kernels are scheduled afterwards, tuning records aside.
Picker picker(const std::string &algorithm, KeptChoices &kept) {
  return
      [&](const nest::Nest &nest, Searches &searches, double seconds) -> std::optional<Candidate> {
        const Target &target = searches.target();
        std::optional<schedule::Schedule> known;
        if (!algorithm.empty())
          known = named_schedule(algorithm, nest, target).schedule;
        if (!known)
          known = kept.noted(kPick, {nest});
        if (known) {
          cost::Estimate estimate = cost::predict(nest, *known, target);
          return Candidate{std::move(*known), std::move(estimate)};
        }
        std::optional<Candidate> best = searches.best_below(nest, seconds);
        if (best)
          kept.note(kPick, {nest}, best->schedule);
        return best;
      };
}

struct Decision {
  ReductionSplit split;
  search::JoinIn join = search::JoinIn::OwnLaunch;
  std::string note;
  bool joins_tiles() const { return join == search::JoinIn::SameLaunch; }
};

constexpr std::string_view kTogether = "together ";
constexpr std::string_view kTwo = "two ";

// What `split` says of the join, taken out of it.
SplitOptions told(SplitOptions options) {
  for (const auto &[word, join] : {std::pair(kTogether, search::JoinIn::SameLaunch),
                                   std::pair(kTwo, search::JoinIn::OwnLaunch)}) {
    if (!(options.split + " ").starts_with(word))
      continue;
    options.join = join;
    options.split.erase(0, word.size());
    if (options.split.empty())
      options.split = "auto";
  }
  return options;
}

// Kept as the split on a line, behind `together` where it is joined in the same launch, then the
// note. Nothing when the text is none for this nest.
std::optional<Decision> parse_decision(const nest::Nest &nest, const std::string &text) {
  const std::size_t line = text.find('\n');
  if (line == std::string::npos)
    return std::nullopt;
  const bool together = text.starts_with(kTogether);
  const std::size_t begin = together ? kTogether.size() : 0;
  try {
    Decision decision = {nest::parse_split(nest, text.substr(begin, line - begin)),
                         together ? search::JoinIn::SameLaunch : search::JoinIn::OwnLaunch,
                         text.substr(line + 1)};
    if (decision.split.empty() || !nest::illegal_split(nest, decision.split))
      return decision;
  } catch (const Error &) { // weighed anew
  }
  return std::nullopt;
}

Decision weigh(const poly::Group &group, const Target &target, const SplitOptions &options,
               KeptChoices &kept) {
  const nest::Nest &nest = group.anchor;
  const std::string question =
      fmt::format("split {}{}", options.algorithm, static_cast<int>(options.join));
  if (const std::optional<std::string> text = kept.find(question, group))
    if (std::optional<Decision> decision = parse_decision(nest, *text))
      return std::move(*decision);
  const search::SplitChoice choice =
      search::choose_split(nest, target, picker(options.algorithm, kept), options.join);
  Decision decision = {choice.split, choice.join, search::to_text(nest, choice)};
  kept.keep(question, group,
            fmt::format("{}{}\n{}", decision.joins_tiles() ? kTogether : "",
                        nest::to_text(nest, decision.split), decision.note));
  return decision;
}

Decision decide(const poly::Group &group, const Target &target, const SplitOptions &asked,
                KeptChoices &kept) {
  const nest::Nest &nest = group.anchor;
  SplitOptions options = asked;
  if (!options.algorithm.empty()) // which need not fit the join of a tile
    options.join = search::JoinIn::OwnLaunch;
  if (options.split == "none" || (options.split == "auto" && !is_alone(group)))
    return {};
  if (!is_alone(group))
    throw Error(ErrorCode::Unsupported,
                "nest '" + nest.name + "': it shares its kernel with other nests");
  if (options.split == "auto")
    return weigh(group, target, options, kept);
  ReductionSplit split = nest::parse_split(nest, options.split, "--split");
  if (const std::optional<std::string> reason = nest::illegal_split(nest, split))
    throw Error(ErrorCode::Unsupported, "nest '" + nest.name + "': " + *reason);
  if (split.empty())
    return {};
  const search::JoinIn join =
      search::choose_join(nest, split, target, picker(options.algorithm, kept), options.join);
  return {std::move(split), join, "split " + options.split + "\n"};
}

Decision decide_or_keep_whole(const poly::Group &group, const Target &target,
                              const SplitOptions &options, KeptChoices &kept) {
  if (options.split == "auto" || options.split == "none")
    return decide(group, target, options, kept);
  try {
    return decide(group, target, options, kept);
  } catch (const Error &reason) {
    if (options.warn)
      options.warn(fmt::format("{}; it is not split", reason.message()));
    return {};
  }
}

std::vector<program::BufferId> buffers_of(const std::vector<std::optional<poly::SlotId>> &slots,
                                          const poly::PlacedGroup &whole,
                                          program::BufferId scratch) {
  std::vector<program::BufferId> buffers;
  for (const std::optional<poly::SlotId> slot : slots)
    buffers.push_back(slot ? whole.buffers[*slot] : scratch);
  return buffers;
}

} // namespace

std::vector<poly::Group> split_group(const poly::Group &group, const Target &target,
                                     const SplitOptions &options, std::string *note,
                                     KeptChoices *kept) {
  KeptChoices none(nullptr, target);
  Decision decision = decide(group, target, told(options), kept == nullptr ? none : *kept);
  if (note != nullptr)
    *note = std::move(decision.note);
  if (decision.split.empty())
    return {group};
  nest::SplitNests nests =
      nest::split_reduction(group.anchor, decision.split, decision.joins_tiles());
  return {{std::move(nests.partial)}, {std::move(nests.join)}};
}

void weigh_splits(const std::vector<const poly::Group *> &groups, const Target &target,
                  const SplitOptions &asked, KeptChoices &kept) {
  const SplitOptions options = told(asked);
  if (options.split != "auto")
    return;
  std::map<std::string, const poly::Group *> distinct;
  for (const poly::Group *group : groups)
    distinct.emplace(poly::to_text(*group), group);
  std::vector<const poly::Group *> once;
  for (const auto &[text, group] : distinct)
    once.push_back(group);
  ThreadPool pool(std::min(available_threads(), std::max(1, static_cast<int>(once.size()))));
  pool.parallel_for(static_cast<std::int64_t>(once.size()),
                    [&](int, std::int64_t i) { decide(*once[at(i)], target, options, kept); });
}

std::vector<poly::PlacedGroup> split_groups(std::vector<poly::PlacedGroup> groups,
                                            program::StoredProgram &stored, const Target &target,
                                            const SplitOptions &asked, KeptChoices *kept) {
  const SplitOptions options = told(asked);
  KeptChoices none(nullptr, target);
  KeptChoices &choices = kept == nullptr ? none : *kept;
  std::vector<const poly::Group *> all;
  for (const poly::PlacedGroup &placed : groups)
    all.push_back(&placed.group);
  weigh_splits(all, target, options, choices);
  std::map<std::string, Decision> decided;
  std::vector<poly::PlacedGroup> result;
  for (poly::PlacedGroup &placed : groups) {
    const std::string text = poly::to_text(placed.group);
    auto found = decided.find(text);
    if (found == decided.end())
      found =
          decided.emplace(text, decide_or_keep_whole(placed.group, target, options, choices)).first;
    if (!found->second.note.empty())
      placed.notes.push_back(found->second.note);
    if (found->second.split.empty()) {
      result.push_back(std::move(placed));
      continue;
    }
    const bool joins_tiles = found->second.joins_tiles();
    nest::SplitNests nests =
        nest::split_reduction(placed.group.anchor, found->second.split, joins_tiles);
    const auto scratch = static_cast<program::BufferId>(stored.buffers.size());
    const nest::Slot &slot = nests.join.slots[nests.join.inputs[0].slot];
    stored.buffers.push_back({.type = slot.type, .elems = slot.elems});
    result.push_back({{std::move(nests.partial)},
                      buffers_of(nests.partial_slots, placed, scratch),
                      placed.origin,
                      placed.notes,
                      false,
                      placed.statement});
    result.push_back({{std::move(nests.join)},
                      buffers_of(nests.join_slots, placed, scratch),
                      placed.origin,
                      placed.notes,
                      joins_tiles,
                      placed.statement});
  }
  return result;
}

} // namespace tilefuse::search
