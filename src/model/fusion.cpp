// SPDX-License-Identifier: Apache-2.0
#include "model/fusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "cost/model.h"
#include "poly/profit.h"
#include "search/groups.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

// Elements of a tensor that an operand can reach.
double elements(const nest::Operand &operand) {
  double all = 1;
  for (const nest::Dim &dim : operand.dims)
    all *= static_cast<double>(dim.size);
  return all;
}

double bytes_of_member(const poly::PlacedGroup &placed, int member,
                       const program::StoredProgram &stored) {
  const nest::Nest &nest = poly::member_nest(placed.group, member);
  std::set<int> seen;
  double bytes = 0;
  const auto add = [&](const nest::Operand &operand) {
    const int slot = poly::group_slot(placed.group, member, operand.slot);
    const auto buffer =
        static_cast<std::size_t>(program::to_int(placed.buffers[static_cast<std::size_t>(slot)]));
    const program::Buffer &info = stored.buffers[buffer];
    if (info.role != program::Role::Constant && !poly::is_internal(placed.group, slot) &&
        seen.insert(slot).second)
      bytes += elements(operand) * static_cast<double>(size_bytes(info.type));
  };
  for (const nest::Operand &input : nest.inputs)
    add(input);
  for (const nest::Operand &extra : nest.extras)
    add(extra);
  add(nest.out);
  return bytes;
}

// What the formula may be wrong by: a fusion that it expects to lose more is not priced.
constexpr double kHopeless = 1.5;
// What the cost model must promise, since its error is of that size: where maps are evaluated, and
// where nests run per tile, of which it takes the kernels apart for dearer than they are.
constexpr double kMapMargin = 1.05;
constexpr double kNestMargin = 1.15;

constexpr std::string_view kWorth = "worth it";
constexpr std::string_view kNotWorth = "not worth it";

// Asks the cost model whether groups are worth it, by the best schedules that it knows.
class Judge {
public:
  Judge(const Target &target, KeptChoices &kept) : target_(target), kept_(kept) {}

  // As kept, or weighed and kept.
  poly::Verdict operator()(const poly::Group &fused, const poly::Group &consumer,
                           const poly::Group &producer) {
    const auto start = std::chrono::steady_clock::now();
    const std::string question = fmt::format("fuse {} by {} {} {}", producer.producers.size() + 1,
                                             kHopeless, kMapMargin, kNestMargin);
    poly::Verdict verdict;
    if (const std::optional<std::string> text = kept_.find(question, fused)) {
      verdict = parse_verdict(*text);
    } else {
      verdict = weigh(fused, consumer, producer);
      kept_.keep(question, fused, to_text(verdict));
    }
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verdict;
  }
  double seconds() const { return seconds_; } // spent

private:
  static std::string to_text(const poly::Verdict &verdict) {
    return fmt::format("{}\n{}", verdict.is_worth ? kWorth : kNotWorth,
                       fmt::join(verdict.terms, "\n"));
  }

  static poly::Verdict parse_verdict(std::string_view text) {
    poly::Verdict verdict{.is_worth = text.starts_with(kWorth)};
    for (std::size_t at = text.find('\n'); at != std::string_view::npos;) {
      text.remove_prefix(at + 1);
      at = text.find('\n');
      if (!text.empty())
        verdict.terms.emplace_back(text.substr(0, at));
    }
    return verdict;
  }

  poly::Verdict weigh(const poly::Group &fused, const poly::Group &consumer,
                      const poly::Group &producer) {
    const poly::Profit profit = poly::profit(fused, producer, target_);
    poly::Verdict verdict = poly::to_verdict(profit, fused);
    if (profit.tile.empty() || profit.spent_seconds > kHopeless * profit.saved_seconds)
      return verdict;
    const std::optional<double> together = seconds_of(fused);
    verdict.is_worth = false;
    if (!together) {
      verdict.terms.push_back("no schedule of both fits the target");
      return verdict;
    }
    const std::optional<double> first = seconds_of(producer);
    const std::optional<double> second = seconds_of(consumer);
    const double margin = producer.anchor.inputs.empty() ? kMapMargin : kNestMargin;
    verdict.is_worth = first && second && *together * margin < *first + *second;
    verdict.terms.push_back(
        fmt::format("cost model: {:.2f} us in one kernel, {:.2f} + {:.2f} us apart",
                    *together * 1e6, first.value_or(0) * 1e6, second.value_or(0) * 1e6));
    return verdict;
  }

  // Each group is priced once. Nothing where no schedule fits the target.
  std::optional<double> seconds_of(const poly::Group &group) {
    const auto [found, is_new] = prices_.try_emplace(poly::to_text(group));
    if (!is_new)
      return found->second;
    const std::optional<schedule::Schedule> schedule = group.producers.empty()
                                                           ? search::pick(group.anchor, target_)
                                                           : search::pick_fused(group, target_);
    if (schedule) {
      kept_.note(kPick, group, *schedule);
      found->second = cost::predict(group, *schedule, target_).seconds;
    }
    return found->second;
  }

  const Target &target_;
  KeptChoices &kept_;
  std::map<std::string, std::optional<double>> prices_; // by text of the group
  double seconds_ = 0;
};

} // namespace

std::vector<poly::PlacedGroup> make_groups(const program::StoredProgram &stored,
                                           const FusionSettings &settings, const Target &target,
                                           poly::FuseReport *report, KeptChoices *kept) {
  KeptChoices none(nullptr, target);
  Judge judge(target, kept == nullptr ? none : *kept);
  const poly::FuseOptions options = {
      .level = settings.level, .quota = settings.quota, .judge = std::ref(judge)};
  std::vector<poly::PlacedGroup> groups = poly::make_groups(stored, options, report);
  if (report != nullptr)
    report->seconds -= judge.seconds();
  return groups;
}

double bytes_moved(const std::vector<poly::PlacedGroup> &groups,
                   const program::StoredProgram &stored) {
  double bytes = 0;
  for (const poly::PlacedGroup &placed : groups)
    for (int m = 0; m <= static_cast<int>(placed.group.producers.size()); ++m)
      bytes += bytes_of_member(placed, m, stored);
  return bytes;
}

} // namespace tilefuse::model
