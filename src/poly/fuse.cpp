// SPDX-License-Identifier: Apache-2.0
#include "poly/fuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/index.h"
#include "poly/group_buffers.h"
#include "poly/group_legality.h"
#include "poly/inline_map.h"
#include "poly/isl/isl_objects.h"
#include "poly/join_rows.h"
#include "poly/join_statistics.h"
#include "poly/needs.h"
#include "poly/post_ops.h"

namespace tilefuse::poly {
namespace {

using program::BufferId;

bool is_map(const Group &group) { return group.producers.empty() && group.anchor.inputs.empty(); }

// Whether the group reads a copy in runs that overlap, wherever indices are split.
bool would_spread(const PlacedGroup &group, int input, const PlacedGroup &producer) {
  if (!producer.group.producers.empty())
    return false;
  const std::optional<PlacedGroup> fused = attach(group, kAnchor, input, producer);
  return fused && fused->group.producers.back().feed == Feed::Spread;
}

// Every tile of the anchor, however small, runs all of a producer that sums: nothing is won by
// running it again and again.
bool needs_everything(const Group &group) {
  const Indexed<IndexId, std::int64_t> points(at(group.anchor.output_indices), 1);
  const std::vector<MemberNeeds> all = needs(group, points);
  for (std::size_t m = 1; m < all.size(); ++m) {
    const nest::Nest &nest = group.producers[m - 1].nest;
    const bool reads_much = !nest.inputs.empty();
    const auto own = static_cast<double>(nest::output_points(nest));
    const auto tiles = static_cast<double>(nest::output_points(group.anchor));
    if (reads_much && tiles > 1 && all[m].executed >= own * tiles && own > 1)
      return true;
  }
  return false;
}

// Why the group's producers may not run in its tiles, or "".
std::string refusal_of(const Group &fused, const FuseOptions &options) {
  if (needs_everything(fused))
    return "each tile would need all of its result";
  return is_plainly_legal(fused) ? "" : illegal_fusion(fused, options.quota).value_or("");
}

class Fuser {
public:
  Fuser(std::vector<PlacedGroup> groups, const program::StoredProgram &stored,
        const FuseOptions &options)
      : stored_(stored), options_(options) {
    for (PlacedGroup &placed : groups)
      groups_.emplace_back(std::move(placed));
  }

  std::vector<PlacedGroup> run(FuseReport &report) {
    if (options_.judge && options_.foresee)
      foresee();
    for_offers([&](std::size_t c, int input, std::size_t p) { offer(c, input, p, report); });
    report.isl_calls += isl_calls_;
    return left();
  }

  // Producers that one group alone reads, as `takes` says of it and its input's.
  using Takes = std::function<bool(const PlacedGroup &, int input, const PlacedGroup &producer)>;
  std::vector<PlacedGroup> feed(const Takes &takes) {
    FuseReport report;
    for_offers([&](std::size_t c, int input, std::size_t p) {
      if (takes(*groups_[c], input, *groups_[p]) && needed_elsewhere(c, p).empty())
        offer(c, input, p, report);
    });
    return left();
  }

private:
  // Inputs of groups and what computes them, as fusions before leave them.
  template <typename Visit> void for_offers(const Visit &visit) {
    for (std::size_t c = 0; c < groups_.size(); ++c)
      for (std::size_t k = 0; groups_[c] && k < groups_[c]->group.anchor.inputs.size(); ++k)
        if (const std::optional<std::size_t> p = producer_of_input(c, static_cast<int>(k)))
          visit(c, static_cast<int>(k), *p);
  }

  // Decides on every offer with no fusion made, and what would be judged is told.
  void foresee() {
    Foreseen foreseen;
    foreseen_ = &foreseen;
    for_offers([&](std::size_t c, int input, std::size_t p) {
      FuseDecision unread;
      decide(c, input, p, unread);
    });
    foreseen_ = nullptr;
    judged_.clear();
    options_.foresee(foreseen.exchanges);
  }

  std::vector<PlacedGroup> left() {
    std::vector<PlacedGroup> left;
    for (std::optional<PlacedGroup> &group : groups_)
      if (group)
        left.push_back(std::move(*group));
    return left;
  }

  // The one group that computes what input k of group c reads, if there is one.
  std::optional<std::size_t> producer_of_input(std::size_t c, int input) const {
    const PlacedGroup &consumer = *groups_[c];
    const nest::Operand &operand = consumer.group.anchor.inputs[at(input)];
    if (operand.constant || poly::producer_of(consumer.group, kAnchor, input))
      return std::nullopt;
    const BufferId buffer = consumer.buffers[operand.slot];
    std::optional<std::size_t> found;
    for (std::size_t p = 0; p < groups_.size(); ++p) {
      if (!groups_[p] || !writes(*groups_[p], buffer))
        continue;
      if (found || p >= c || written_buffer(*groups_[p]) != buffer)
        return std::nullopt;
      found = p;
    }
    return found;
  }

  // What takes the place of groups: each of `made` that of the group at `places`.
  struct Change {
    std::vector<PlacedGroup> made;
    std::vector<std::size_t> places;
    bool stores = false; // the first of them, what the others read
    double gain_seconds = 0;
  };

  void offer(std::size_t c, int input, std::size_t p, FuseReport &report) {
    FuseDecision decision{groups_[c]->origin, groups_[p]->origin, false, {}, {}};
    if (std::optional<Change> change = decide(c, input, p, decision)) {
      for (std::size_t m = 0; m < change->made.size(); ++m)
        groups_[change->places[m]] = std::move(change->made[m]);
      groups_[p].reset();
      decision.is_fused = true;
    } else
      groups_[c]->notes.push_back(to_text(decision));
    report.decisions.push_back(std::move(decision));
  }

  std::optional<Change> decide(std::size_t c, int input, std::size_t p, FuseDecision &decision) {
    decision.reason = not_there(c, p);
    if (!decision.reason.empty())
      return std::nullopt;
    if (const std::string needed = needed_elsewhere(c, p); !needed.empty()) {
      std::optional<Change> shared = share(c, p, decision);
      if (!shared && decision.terms.empty())
        decision.reason = needed;
      return shared;
    }
    std::optional<PlacedGroup> fused =
        attach(*groups_[c], kAnchor, input, *groups_[p], &decision.reason);
    if (!fused)
      return std::nullopt;
    if (!options_.spreads && fused->group.producers.back().feed == Feed::Spread) {
      decision.reason = "its runs overlap, which the target cannot fill";
      return std::nullopt;
    }
    if (std::optional<PlacedGroup> one_map = inline_map(*fused)) {
      decision.terms.push_back("the copy evaluates the map, once an element");
      return Change{{std::move(*one_map)}, {c}};
    }
    return weighed({{std::move(*fused)}, {c}}, p, decision);
  }

  // Why p cannot be computed where c is, or "".
  std::string not_there(std::size_t c, std::size_t p) const {
    const program::Buffer &info = stored_.buffers[at(written_buffer(*groups_[p]))];
    if (info.needs_zero)
      return "elements of its result that nothing writes are read";
    const std::set<BufferId> inputs = read_buffers(*groups_[p]);
    for (std::size_t g = p + 1; g < c; ++g)
      if (groups_[g] && std::any_of(inputs.begin(), inputs.end(),
                                    [&](BufferId buffer) { return writes(*groups_[g], buffer); }))
        return fmt::format("{} writes what it reads before", groups_[g]->origin);
    return "";
  }

  std::vector<std::size_t> readers_of(std::size_t p) const {
    std::vector<std::size_t> found;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g] && g != p && read_buffers(*groups_[g]).count(written_buffer(*groups_[p])) != 0)
        found.push_back(g);
    return found;
  }

  // Why the result of p must be in memory whatever c does, or "".
  std::string needed_elsewhere(std::size_t c, std::size_t p) const {
    if (stored_.buffers[at(written_buffer(*groups_[p]))].is_output)
      return "its result is an output";
    for (const std::size_t g : readers_of(p))
      if (g != c)
        return fmt::format("{} reads its result too", groups_[g]->origin);
    return "";
  }

  // A map with several readers: the better of a copy in each and a by-product of the first.
  std::optional<Change> share(std::size_t c, std::size_t p, FuseDecision &decision) {
    if (!is_map(groups_[p]->group))
      return std::nullopt;
    std::optional<Change> best;
    std::vector<std::string> terms;
    for (std::optional<Change> change : {copies(p), by_product(c, p)}) {
      if (!change)
        continue;
      FuseDecision of = decision;
      of.terms.clear();
      change = weighed(std::move(*change), p, of);
      terms.insert(terms.end(), of.terms.begin(), of.terms.end());
      decision.reason = of.reason;
      if (change && (!best || change->gain_seconds > best->gain_seconds))
        best = std::move(change);
    }
    decision.terms = std::move(terms);
    if (best)
      decision.terms.push_back(best->stores ? "stored on the way, once an element"
                                            : "every reader evaluates it");
    return best;
  }

  // Each reader of p evaluates it where it stages it, so that nothing needs it in memory.
  std::optional<Change> copies(std::size_t p) const {
    if (stored_.buffers[at(written_buffer(*groups_[p]))].is_output)
      return std::nullopt;
    Change change;
    for (const std::size_t g : readers_of(p)) {
      const std::optional<int> input = only_input(*groups_[g], written_buffer(*groups_[p]));
      if (!input || groups_[g]->group.anchor.inputs[at(*input)].constant ||
          !not_there(g, p).empty())
        return std::nullopt;
      std::optional<PlacedGroup> made = attach(*groups_[g], kAnchor, *input, *groups_[p]);
      if (!made)
        return std::nullopt;
      change.made.push_back(std::move(*made));
      change.places.push_back(g);
    }
    return change;
  }

  // c stages p and stores it; all others, which stay as they are, read it afterwards.
  std::optional<Change> by_product(std::size_t c, std::size_t p) const {
    const std::optional<int> input = only_input(*groups_[c], written_buffer(*groups_[p]));
    if (!input || readers_of(p).front() != c)
      return std::nullopt;
    std::optional<PlacedGroup> made = attach(*groups_[c], kAnchor, *input, *groups_[p]);
    if (!made)
      return std::nullopt;
    made->group.producers.back().stored = true;
    Change change{.made = {std::move(*made)}, .places = {c}, .stores = true};
    for (const std::size_t g : readers_of(p))
      if (g != c) {
        change.made.push_back(*groups_[g]);
        change.places.push_back(g);
      }
    return change;
  }

  std::optional<Change> weighed(Change change, std::size_t p, FuseDecision &decision) {
    const Judged &judged = judge(change, p);
    decision.reason = judged.reason;
    decision.terms = judged.terms;
    if (!judged.reason.empty())
      return std::nullopt;
    change.gain_seconds = judged.gain_seconds;
    return change;
  }

  struct Refusal {
    std::string reason;
    std::int64_t calls = 0; // of isl, not counted yet
  };

  // The same, found out once for each group; what is foreseen and not asked for is not counted.
  const std::string &refusal_of(const std::string &text, const Group &fused) {
    const auto [found, is_new] = refusals_.try_emplace(text);
    Refusal &refusal = found->second;
    if (is_new) {
      const std::int64_t before = poly::isl_calls();
      refusal.reason = poly::refusal_of(fused, options_);
      refusal.calls = poly::isl_calls() - before;
    }
    isl_calls_ += foreseen_ == nullptr ? std::exchange(refusal.calls, 0) : 0;
    return refusal.reason;
  }

  struct Judged {
    std::string reason; // why not
    std::vector<std::string> terms;
    double gain_seconds = 0;
  };

  // The first of several groups that comes from the statement: classes may share a launch.
  static std::string relation(const std::vector<PlacedGroup> &groups, int statement) {
    const auto first = std::find_if(groups.begin(), groups.end(), [&](const PlacedGroup &each) {
      return each.statement == statement;
    });
    return fmt::format("{} ", first - groups.begin());
  }

  // Equal exchanges are judged once.
  const Judged &judge(const Change &change, std::size_t p) {
    std::string key;
    std::vector<std::string> texts;
    for (const PlacedGroup &made : change.made)
      key += texts.emplace_back(to_text(made.group)) + relation(change.made, made.statement);
    const auto [found, is_new] = judged_.try_emplace(key);
    Judged &judged = found->second;
    if (!is_new)
      return judged;
    Exchange exchange;
    for (std::size_t m = 0; m < change.made.size(); ++m) {
      exchange.together.push_back(&change.made[m]);
      exchange.apart.push_back(&*groups_[change.places[m]]);
      judged.reason = change.stores && m > 0 ? "" : refusal_of(texts[m], change.made[m].group);
      if (!judged.reason.empty())
        return judged;
    }
    exchange.apart.push_back(&*groups_[p]);
    if (foreseen_ != nullptr)
      foreseen_->add(std::move(exchange));
    else if (options_.judge)
      judged = judged_by(options_.judge(exchange));
    return judged;
  }

  static Judged judged_by(Verdict verdict) {
    return {verdict.is_worth ? "" : "it does not pay", std::move(verdict.terms),
            verdict.gain_seconds};
  }

  // Exchanges, with groups that none of the program's are.
  struct Foreseen {
    std::deque<PlacedGroup> made;
    std::vector<Exchange> exchanges;

    void add(Exchange exchange) {
      for (const PlacedGroup *&group : exchange.together)
        group = &made.emplace_back(*group);
      exchanges.push_back(std::move(exchange));
    }
  };

  const program::StoredProgram &stored_;
  const FuseOptions &options_;
  std::vector<std::optional<PlacedGroup>> groups_; // nothing where one joined a later one
  std::map<std::string, Judged> judged_;           // by text of the fused groups
  std::map<std::string, Refusal> refusals_;        // by text of the fused group
  std::int64_t isl_calls_ = 0;                     // that decisions took
  Foreseen *foreseen_ = nullptr;                   // while nothing is judged
};

// What stands for several groups, as the judge says.
bool takes(const PlacedGroup &joined, const std::vector<PlacedGroup *> &apart,
           const std::string &broken, const FuseOptions &options, FuseReport &report) {
  FuseDecision decision{apart.front()->origin, apart.back()->origin, false, broken, {}};
  if (broken.empty() && options.judge) {
    Verdict verdict = options.judge({{&joined}, {apart.begin(), apart.end()}});
    decision.terms = std::move(verdict.terms);
    decision.reason = verdict.is_worth ? "" : "it does not pay";
  }
  decision.is_fused = decision.reason.empty();
  if (!decision.is_fused)
    apart.front()->notes.push_back(to_text(decision));
  report.decisions.push_back(decision);
  return decision.is_fused;
}

// Nests with what follows them, rows with their products, and maps of rows with their statistics.
std::vector<PlacedGroup> grouped(const program::StoredProgram &stored, const FuseOptions &options,
                                 FuseReport &report) {
  std::vector<PlacedGroup> groups = group_nests(stored, options.level != FuseLevel::None);
  if (options.level == FuseLevel::None)
    return groups;
  using Apart = std::vector<PlacedGroup *>;
  if (options.rows)
    groups =
        join_rows(std::move(groups), stored,
                  [&](const PlacedGroup &joined, const Apart &apart, const std::string &broken) {
                    return takes(joined, apart, broken, options, report);
                  });
  if (options.row_keys > 0)
    groups = join_statistics(
        std::move(groups), stored, options.row_keys,
        [&](const PlacedGroup &joined, const Apart &apart, const std::string &broken) {
          const std::string reason = broken.empty() ? refusal_of(joined.group, options) : broken;
          return takes(joined, apart, reason, options, report);
        });
  return groups;
}

} // namespace

std::vector<PlacedGroup> make_groups(const program::StoredProgram &stored,
                                     const FuseOptions &options, FuseReport *report) {
  FuseReport unread;
  FuseReport &out = report == nullptr ? unread : *report;
  const auto with_rows = [&] { return grouped(stored, options, out); };
  if (options.level == FuseLevel::Pointwise && options.spreads)
    return Fuser(with_rows(), stored, options).feed(would_spread);
  if (options.level != FuseLevel::All)
    return with_rows();
  const auto start = std::chrono::steady_clock::now();
  std::vector<PlacedGroup> groups = Fuser(with_rows(), stored, options).run(out);
  out.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return groups;
}

std::vector<PlacedGroup> feed_maps(std::vector<PlacedGroup> groups,
                                   const program::StoredProgram &stored, const FuseOptions &options,
                                   const std::function<bool(const PlacedGroup &)> &takes) {
  return Fuser(std::move(groups), stored, options)
      .feed([&](const PlacedGroup &group, int, const PlacedGroup &producer) {
        return takes(group) && is_map(producer.group);
      });
}

std::string to_text(const FuseDecision &decision) {
  std::string text = decision.is_fused
                         ? fmt::format("fused {} into {}\n", decision.producer, decision.consumer)
                         : fmt::format("kept {} apart from {}: {}\n", decision.producer,
                                       decision.consumer, decision.reason);
  for (const std::string &term : decision.terms)
    text += "  " + term + "\n";
  return text;
}

} // namespace tilefuse::poly
