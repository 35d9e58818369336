// SPDX-License-Identifier: Apache-2.0
#include "search/network/fusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "cost/group_model.h"
#include "cost/profit.h"
#include "launch/classes.h"
#include "nest/maps_inputs.h"
#include "poly/post_ops.h"
#include "poly/row_group.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/groups.h"
#include "search/pick.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

// Elements of a tensor that an operand can reach.
double elements(const nest::Operand &operand) {
  double all = 1;
  for (const nest::Dim &dim : operand.dims)
    all *= static_cast<double>(dim.size);
  return all;
}

double bytes_of_member(const poly::PlacedGroup &placed, poly::MemberId member,
                       const program::StoredProgram &stored) {
  const nest::Nest &nest = poly::member_nest(placed.group, member);
  const std::vector<poly::SlotId> written = poly::written_slots(placed.group);
  std::set<poly::SlotId> seen;
  double bytes = 0;
  const auto add = [&](const nest::Operand &operand) {
    const poly::SlotId slot = poly::group_slot(placed.group, member, operand.slot);
    const auto buffer = at(placed.buffers[slot]);
    const program::Buffer &info = stored.buffers[buffer];
    const bool in_memory =
        !poly::is_internal(placed.group, slot) ||
        (&operand == &nest.out && std::count(written.begin(), written.end(), slot) > 0);
    if (info.role != program::Role::Constant && in_memory && seen.insert(slot).second)
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
// Where all classes of a gradient evaluate a map in one launch its error is to the other side: on
// an H200 they take 0.59 to 0.99 of the time apart.
constexpr double kClassMargin = 1;
// Of maps with their statistics one kernel takes 0.70 to 0.84 of what is predicted, those apart 1.17.
constexpr double kStatisticsMargin = 1;

// Of a launch that a device's queue holds behind another, what is not hidden by that one.
constexpr double kQueuedLaunch = 0.3;

// Whether what the first of several classes stores keeps the others from its side.
bool parts_classes(const std::vector<const poly::PlacedGroup *> &groups) {
  poly::PlacedGroup first = *groups.front();
  const auto stored = [](const poly::Producer &producer) { return producer.stored; };
  if (std::none_of(first.group.producers.begin(), first.group.producers.end(), stored))
    return false;
  first.group.producers.clear();
  return std::any_of(groups.begin() + 1, groups.end(), [&](const poly::PlacedGroup *other) {
    return launch::are_classes(first, *other);
  });
}

// Elements of a row that a work-item holds at most while its statistics are computed.
constexpr std::int64_t kRowElements = 16;

constexpr std::string_view kWorth = "worth it";
constexpr std::string_view kNotWorth = "not worth it";

// Asks the cost model whether groups are worth it, by the best schedules that it knows.
class Judge {
public:
  Judge(const Target &target, KeptChoices &kept) : target_(target), kept_(kept) {}

  // As kept, or weighed and kept.
  poly::Verdict operator()(const poly::Exchange &exchange) {
    const Stopwatch watch;
    const poly::Group &first = exchange.together.front()->group;
    const std::string question = question_of(exchange);
    poly::Verdict verdict;
    if (const std::optional<std::string> text = kept_.find(question, first)) {
      verdict = parse_verdict(*text);
    } else {
      verdict = weigh(exchange);
      kept_.keep(question, first, to_text(verdict));
    }
    seconds_ += watch.seconds();
    return verdict;
  }
  double seconds() const { return seconds_; } // spent

  // Prices what these exchanges ask for on all threads.
  void foresee(const std::vector<poly::Exchange> &exchanges) {
    const Stopwatch watch;
    ThreadPool pool(available_threads());
    std::vector<Opening> openings(exchanges.size(), {.is_settled = true});
    for_each(pool, exchanges.size(), [&](std::size_t e) {
      if (!kept_.find(question_of(exchanges[e]), exchanges[e].together.front()->group))
        openings[e] = opening(exchanges[e]);
    });
    std::map<std::string, const poly::Group *> distinct;
    for (std::size_t e = 0; e < exchanges.size(); ++e)
      for (const auto *groups : {&exchanges[e].together, &exchanges[e].apart})
        for (const poly::PlacedGroup *placed : *groups)
          if (!openings[e].is_settled)
            distinct.emplace(poly::to_text(placed->group), &placed->group);
    const std::vector all(distinct.begin(), distinct.end());
    std::vector<std::optional<cost::Estimate>> prices(all.size());
    for_each(pool, all.size(), [&](std::size_t g) { prices[g] = priced(*all[g].second); });
    for (std::size_t g = 0; g < all.size(); ++g)
      prices_.emplace(all[g].first, std::move(prices[g]));
    for (std::size_t e = 0; e < exchanges.size(); ++e)
      openings_.emplace(name_of(exchanges[e]), std::move(openings[e]));
    seconds_ += watch.seconds();
  }

private:
  template <typename Body>
  static void for_each(ThreadPool &pool, std::size_t count, const Body &body) {
    pool.parallel_for(static_cast<std::int64_t>(count),
                      [&](int, std::int64_t i) { body(static_cast<std::size_t>(i)); });
  }

  // Which groups share a launch: "0 2, 1, ".
  std::string launches_text(const std::vector<const poly::PlacedGroup *> &groups) const {
    std::string text;
    for (const std::vector<const poly::PlacedGroup *> &launch : launches_of(groups)) {
      for (const poly::PlacedGroup *placed : launch)
        text +=
            fmt::format("{} ", std::find(groups.begin(), groups.end(), placed) - groups.begin());
      text += ", ";
    }
    return text;
  }

  std::string question_of(const poly::Exchange &exchange) const {
    std::string others;
    for (std::size_t g = 1; g < exchange.together.size(); ++g)
      others += poly::to_text(exchange.together[g]->group);
    if (!others.empty())
      others += launches_text(exchange.together) + launches_text(exchange.apart);
    return fmt::format("fuse {} by {} {} {} {} {} {} {}",
                       exchange.apart.back()->group.producers.size() + 1, kHopeless, kMapMargin,
                       kNestMargin, kClassMargin, kStatisticsMargin, kQueuedLaunch,
                       others.empty() ? others : content_hash(others));
  }

  static std::string to_text(const poly::Verdict &verdict) {
    return fmt::format("{}\n{}\n{}", verdict.is_worth ? kWorth : kNotWorth, verdict.gain_seconds,
                       fmt::join(verdict.terms, "\n"));
  }

  static poly::Verdict parse_verdict(std::string_view text) {
    poly::Verdict verdict{.is_worth = text.starts_with(kWorth)};
    std::vector<std::string> lines;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos;) {
      text.remove_prefix(at + 1);
      at = text.find('\n');
      if (!text.empty())
        lines.emplace_back(text.substr(0, at));
    }
    if (lines.empty())
      return verdict;
    verdict.gain_seconds = std::strtod(lines.front().c_str(), nullptr);
    verdict.terms.assign(lines.begin() + 1, lines.end());
    return verdict;
  }

  // What is said of an exchange before it is priced, and whether nothing is left to be asked.
  struct Opening {
    poly::Verdict verdict;
    bool is_settled = false;
  };

  Opening opening(const poly::Exchange &exchange) const {
    const poly::Group &producer = exchange.apart.back()->group;
    const poly::Group &fused = exchange.together.front()->group;
    poly::Verdict verdict;
    const bool has_formula =
        !schedule::spread_of(fused) && !has_rows(fused) && !nest::maps_inputs(fused.anchor);
    if (exchange.together.size() == 1 && has_formula) {
      const cost::Profit profit = cost::profit(fused, producer, target_);
      verdict = cost::to_verdict(profit, fused);
      const bool is_map = producer.anchor.inputs.empty();
      if (profit.tile.empty() ? !is_map : profit.spent_seconds > kHopeless * profit.saved_seconds)
        return {std::move(verdict), true};
    }
    verdict.is_worth = false;
    const bool is_parted = target_.lanes == LaneKind::WorkItem && parts_classes(exchange.together);
    if (is_parted)
      verdict.terms.push_back("what one class stores the others wait for, instead of running side "
                              "by side");
    return {std::move(verdict), is_parted};
  }

  // As it was foreseen, else found out.
  Opening taken_opening(const poly::Exchange &exchange) {
    const auto known = openings_.find(name_of(exchange));
    return known == openings_.end() ? opening(exchange) : known->second;
  }

  std::string name_of(const poly::Exchange &exchange) const {
    return question_of(exchange) + poly::to_text(exchange.together.front()->group);
  }

  poly::Verdict weigh(const poly::Exchange &exchange) {
    auto [verdict, is_settled] = taken_opening(exchange);
    if (is_settled)
      return verdict;
    const std::optional<double> together = seconds_of(exchange.together);
    if (!together) {
      verdict.terms.push_back("no schedule of both fits the target");
      return verdict;
    }
    const std::optional<double> apart = seconds_of(exchange.apart);
    const bool are_together =
        exchange.together.size() > 1 && launches_of(exchange.together).size() == 1;
    const bool is_map = exchange.apart.back()->group.anchor.inputs.empty();
    const bool has_statistics = nest::maps_inputs(exchange.together.front()->group.anchor);
    const double margin = are_together     ? kClassMargin
                          : has_statistics ? kStatisticsMargin
                          : is_map         ? kMapMargin
                                           : kNestMargin;
    const double hidden = hidden_launches(exchange);
    verdict.gain_seconds = apart.value_or(0) - hidden - *together;
    verdict.is_worth = apart && *together * margin < *apart - hidden;
    const auto kernels = exchange.together.size();
    const bool joins = launches_of(exchange.apart).size() < exchange.apart.size();
    verdict.terms.push_back(fmt::format(
        "cost model: {:.2f} us in {}, {} us apart{}", *together * 1e6,
        kernels == 1 ? std::string("one kernel") : fmt::format("{} kernels", kernels),
        fmt::join(microseconds(exchange.apart), " + "),
        (joins ? fmt::format(", {:.2f} with classes side by side", apart.value_or(0) * 1e6) : "") +
            (apart ? fmt::format(": gain {:.1f} %, need {:.0f} %",
                                 ((*apart - hidden) / *together - 1) * 100, (margin - 1) * 100)
                   : "")));
    if (hidden > 0)
      verdict.terms.push_back(
          fmt::format("{:.2f} us of the launches apart are hidden by others", hidden * 1e6));
    return verdict;
  }

  // What prices of launches hold too much: each is that of one alone on the device.
  double hidden_launches(const poly::Exchange &exchange) const {
    const auto apart = static_cast<double>(launches_of(exchange.apart).size());
    const auto together = static_cast<double>(launches_of(exchange.together).size());
    const bool is_queued = target_.lanes == LaneKind::WorkItem;
    return is_queued ? (1 - kQueuedLaunch) * target_.launch_us * 1e-6 * (apart - together) : 0;
  }

  using Groups = std::vector<const poly::PlacedGroup *>;

  // Groups that run side by side (search/network/launches.h), in order.
  std::vector<Groups> launches_of(const Groups &groups) const {
    std::vector<Groups> launches;
    for (const poly::PlacedGroup *group : groups) {
      const auto with = std::find_if(launches.begin(), launches.end(), [&](const auto &launch) {
        return target_.lanes == LaneKind::WorkItem && launch::are_classes(*launch.front(), *group);
      });
      if (with == launches.end())
        launches.push_back({group});
      else
        with->push_back(group);
    }
    return launches;
  }

  std::optional<double> seconds_of(const Groups &groups) {
    double sum = 0;
    for (const Groups &launch : launches_of(groups)) {
      const std::optional<double> seconds = side_by_side(launch);
      if (!seconds)
        return std::nullopt;
      sum += *seconds;
    }
    return sum;
  }

  // Blocks of one fill the waves that another leaves empty; none is done before the longest.
  std::optional<double> side_by_side(const Groups &launch) {
    double busy = 0;
    double longest = 0;
    double launched = 0;
    for (const poly::PlacedGroup *placed : launch) {
      const std::optional<cost::Estimate> price = price_of(placed->group);
      if (!price)
        return std::nullopt;
      launched = price->launch;
      const double own = price->seconds - price->launch;
      busy += launch.size() == 1 ? own : std::max(own / std::max(1.0, price->waves), price->memory);
      longest = std::max(longest, own);
    }
    return std::max(busy, longest) + launched;
  }

  std::vector<std::string> microseconds(const Groups &groups) {
    std::vector<std::string> all;
    for (const poly::PlacedGroup *placed : groups)
      all.push_back(
          fmt::format("{:.2f}", price_of(placed->group).value_or(cost::Estimate()).seconds * 1e6));
    return all;
  }

  // Each group is priced once. Nothing where no schedule fits the target.
  std::optional<cost::Estimate> price_of(const poly::Group &group) {
    const auto [found, is_new] = prices_.try_emplace(poly::to_text(group));
    if (is_new)
      found->second = priced(group);
    return found->second;
  }

  // Several threads may ask at once.
  std::optional<cost::Estimate> priced(const poly::Group &group) const {
    std::optional<schedule::Schedule> schedule = kept_.noted(kPick, group);
    if (!schedule && (schedule = group.producers.empty() ? search::pick(group.anchor, target_)
                                                         : search::pick_fused(group, target_)))
      kept_.note(kPick, group, *schedule);
    return schedule ? std::optional(cost::predict(group, *schedule, target_)) : std::nullopt;
  }

  const Target &target_;
  KeptChoices &kept_;
  std::map<std::string, std::optional<cost::Estimate>> prices_; // by text of the group
  std::map<std::string, Opening> openings_;                     // by name of the exchange
  double seconds_ = 0;
};

} // namespace

std::vector<poly::PlacedGroup> make_groups(const program::StoredProgram &stored,
                                           const FusionSettings &settings, const Target &target,
                                           poly::FuseReport *report, KeptChoices *kept) {
  KeptChoices none(nullptr, target);
  Judge judge(target, kept == nullptr ? none : *kept);
  poly::FuseOptions options = {
      .level = settings.level, .quota = settings.quota, .judge = std::ref(judge)};
  options.spreads = has(target, Feature::WarpgroupMatrix); // whose windows are written so
  options.rows = target.lanes == LaneKind::WorkItem && has(target, Feature::MatrixUnits);
  options.row_keys = target.lanes == LaneKind::WorkItem ? kRowElements * target.max_group : 0;
  if (available_threads() > 1)
    options.foresee = [&](const auto &exchanges) { judge.foresee(exchanges); };
  std::vector<poly::PlacedGroup> groups = poly::make_groups(stored, options, report);
  if (report != nullptr)
    report->seconds -= judge.seconds();
  return groups;
}

std::vector<poly::PlacedGroup> feed_parts(std::vector<poly::PlacedGroup> groups,
                                          const program::StoredProgram &stored, std::size_t buffers,
                                          const FusionSettings &settings, const Target &target,
                                          KeptChoices *kept) {
  if (settings.level != poly::FuseLevel::All)
    return groups;
  const auto buffer_of = [](const poly::PlacedGroup &placed, const nest::Operand &operand) {
    return static_cast<std::size_t>(to_int(placed.buffers[operand.slot]));
  };
  std::set<std::size_t> joined; // in the launch that writes them
  for (const poly::PlacedGroup &placed : groups)
    if (placed.joins_tiles)
      joined.insert(buffer_of(placed, placed.group.anchor.inputs[0]));
  KeptChoices none(nullptr, target);
  Judge judge(target, kept == nullptr ? none : *kept);
  return poly::feed_maps(
      std::move(groups), stored,
      {.level = settings.level, .quota = settings.quota, .judge = std::ref(judge)},
      [&](const poly::PlacedGroup &placed) {
        const std::size_t written = buffer_of(placed, placed.group.anchor.out);
        return written >= buffers && joined.count(written) == 0;
      });
}

double bytes_moved(const std::vector<poly::PlacedGroup> &groups,
                   const program::StoredProgram &stored) {
  double bytes = 0;
  for (const poly::PlacedGroup &placed : groups)
    for (const poly::MemberId m : members(placed.group))
      bytes += bytes_of_member(placed, m, stored);
  return bytes;
}

} // namespace tilefuse::search
