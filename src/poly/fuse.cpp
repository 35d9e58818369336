// SPDX-License-Identifier: Apache-2.0
#include "poly/fuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "poly/group_legality.h"
#include "poly/inline_map.h"
#include "poly/isl_objects.h"
#include "poly/needs.h"
#include "poly/post_ops.h"

namespace tilefuse::poly {
namespace {

using program::BufferId;

constexpr std::array<std::pair<FuseLevel, std::string_view>, 3> kLevels = {{
    {FuseLevel::None, "none"},
    {FuseLevel::Pointwise, "pointwise"},
    {FuseLevel::All, "all"},
}};

std::size_t at(BufferId id) { return static_cast<std::size_t>(program::to_int(id)); }

std::set<BufferId> read_buffers(const PlacedGroup &placed) {
  std::set<BufferId> all;
  const Group &group = placed.group;
  for (int m = 0; m <= static_cast<int>(group.producers.size()); ++m) {
    const nest::Nest &nest = member_nest(group, m);
    for (const std::vector<nest::Operand> *operands : {&nest.inputs, &nest.extras})
      for (const nest::Operand &operand : *operands) {
        const int slot = group_slot(group, m, operand.slot);
        if (!is_internal(group, slot))
          all.insert(placed.buffers[static_cast<std::size_t>(slot)]);
      }
  }
  return all;
}

BufferId written_buffer(const PlacedGroup &placed) {
  return placed.buffers[static_cast<std::size_t>(placed.group.anchor.out.slot)];
}

// Every tile of the anchor, however small, runs all of a producer that sums: nothing is won by
// running it again and again.
bool needs_everything(const Group &group) {
  const std::vector<std::int64_t> points(static_cast<std::size_t>(group.anchor.output_indices), 1);
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

class Fuser {
public:
  Fuser(const program::StoredProgram &stored, const FuseOptions &options)
      : stored_(stored), options_(options) {
    for (PlacedGroup &placed : group_nests(stored, true))
      groups_.emplace_back(std::move(placed));
  }

  std::vector<PlacedGroup> run(FuseReport &report) {
    for (std::size_t c = 0; c < groups_.size(); ++c)
      for (std::size_t k = 0; groups_[c] && k < groups_[c]->group.anchor.inputs.size(); ++k)
        offer(c, static_cast<int>(k), report);
    std::vector<PlacedGroup> left;
    for (std::optional<PlacedGroup> &group : groups_)
      if (group)
        left.push_back(std::move(*group));
    return left;
  }

private:
  // The one group that computes what input k of group c reads, if there is one.
  std::optional<std::size_t> producer_of_input(std::size_t c, int input) const {
    const PlacedGroup &consumer = *groups_[c];
    const nest::Operand &operand = consumer.group.anchor.inputs[static_cast<std::size_t>(input)];
    if (operand.constant || poly::producer_of(consumer.group, 0, input))
      return std::nullopt;
    const BufferId buffer = consumer.buffers[static_cast<std::size_t>(operand.slot)];
    std::optional<std::size_t> found;
    for (std::size_t p = 0; p < groups_.size(); ++p) {
      if (!groups_[p] || written_buffer(*groups_[p]) != buffer)
        continue;
      if (found || p >= c)
        return std::nullopt;
      found = p;
    }
    return found;
  }

  void offer(std::size_t c, int input, FuseReport &report) {
    const std::optional<std::size_t> p = producer_of_input(c, input);
    if (!p)
      return;
    FuseDecision decision{groups_[c]->origin, groups_[*p]->origin, false, {}, {}};
    std::optional<PlacedGroup> fused = decide(c, input, *p, decision);
    if (fused) {
      groups_[c] = std::move(fused);
      groups_[*p].reset();
      decision.is_fused = true;
    } else
      groups_[c]->notes.push_back(to_text(decision));
    report.decisions.push_back(std::move(decision));
  }

  std::optional<PlacedGroup> decide(std::size_t c, int input, std::size_t p,
                                    FuseDecision &decision) {
    decision.reason = not_alone(c, p);
    if (!decision.reason.empty())
      return std::nullopt;
    std::optional<PlacedGroup> fused = attach(*groups_[c], 0, input, *groups_[p], &decision.reason);
    if (!fused)
      return std::nullopt;
    if (std::optional<PlacedGroup> one_map = inline_map(*fused)) {
      decision.terms.push_back("the copy evaluates the map, once an element");
      return one_map;
    }
    const Judged &judged = judge(*fused, *groups_[c], *groups_[p]);
    decision.reason = judged.reason;
    decision.terms = judged.terms;
    return judged.reason.empty() ? std::move(fused) : std::nullopt;
  }

  // Why the result of p must be in memory whatever c does, or "".
  std::string not_alone(std::size_t c, std::size_t p) const {
    const BufferId buffer = written_buffer(*groups_[p]);
    const program::Buffer &info = stored_.buffers[at(buffer)];
    if (info.is_output)
      return "its result is an output (L6)";
    if (info.needs_zero)
      return "elements of its result that nothing writes are read (L2)";
    const std::set<BufferId> inputs = read_buffers(*groups_[p]);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g] || g == c || g == p)
        continue;
      if (read_buffers(*groups_[g]).count(buffer) != 0)
        return fmt::format("{} reads its result too (L6)", groups_[g]->origin);
      if (g > p && g < c && inputs.count(written_buffer(*groups_[g])) != 0)
        return fmt::format("{} writes what it reads before (L8)", groups_[g]->origin);
    }
    return "";
  }

  std::optional<std::string> refusal_of(const Group &fused) const {
    return is_plainly_legal(fused) ? std::nullopt : illegal_fusion(fused, options_.quota);
  }

  struct Judged {
    std::string reason; // why not
    std::vector<std::string> terms;
  };

  // Equal groups are judged once.
  const Judged &judge(const PlacedGroup &fused, const PlacedGroup &consumer,
                      const PlacedGroup &producer) {
    const auto [found, is_new] = judged_.try_emplace(to_text(fused.group));
    Judged &judged = found->second;
    if (!is_new)
      return judged;
    if (needs_everything(fused.group)) {
      judged.reason = "each tile would need all of its result";
    } else if (const auto refusal = refusal_of(fused.group)) {
      judged.reason = *refusal;
    } else if (options_.judge) {
      Verdict verdict = options_.judge(fused.group, consumer.group, producer.group);
      judged.terms = std::move(verdict.terms);
      if (!verdict.is_worth)
        judged.reason = "it does not pay";
    }
    return judged;
  }

  const program::StoredProgram &stored_;
  const FuseOptions &options_;
  std::vector<std::optional<PlacedGroup>> groups_; // nothing where one joined a later one
  std::map<std::string, Judged> judged_;           // by text of the fused group
};

} // namespace

std::string_view to_string(FuseLevel level) {
  for (const auto &[of, text] : kLevels)
    if (of == level)
      return text;
  return "";
}

std::optional<FuseLevel> parse_fuse_level(std::string_view text) {
  for (const auto &[level, name] : kLevels)
    if (name == text)
      return level;
  return std::nullopt;
}

std::vector<PlacedGroup> make_groups(const program::StoredProgram &stored,
                                     const FuseOptions &options, FuseReport *report) {
  if (options.level != FuseLevel::All)
    return group_nests(stored, options.level == FuseLevel::Pointwise);
  FuseReport unread;
  FuseReport &out = report == nullptr ? unread : *report;
  const std::int64_t calls = isl_calls();
  const auto start = std::chrono::steady_clock::now();
  std::vector<PlacedGroup> groups = Fuser(stored, options).run(out);
  out.isl_calls += isl_calls() - calls;
  out.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return groups;
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
