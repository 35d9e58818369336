// SPDX-License-Identifier: Apache-2.0
#include "model/fusion.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
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

// Predicted seconds of groups by the best schedule that the cost model knows, each priced once.
class Prices {
public:
  explicit Prices(const Target &target) : target_(target) {}

  // Nothing where no schedule fits the target.
  std::optional<double> seconds(const poly::Group &group) {
    const auto [found, is_new] = known_.try_emplace(poly::to_text(group));
    if (is_new)
      if (const std::optional<schedule::Schedule> schedule =
              group.producers.empty() ? search::pick(group.anchor, target_)
                                      : search::pick_fused(group, target_))
        found->second = cost::predict(group, *schedule, target_).seconds;
    return found->second;
  }
  const Target &target() const { return target_; }

private:
  Target target_;
  std::map<std::string, std::optional<double>> known_; // by text of the group
};

poly::Verdict judge(const poly::Group &fused, const poly::Group &consumer,
                    const poly::Group &producer, Prices &prices) {
  const poly::Profit profit = poly::profit(fused, producer, prices.target());
  poly::Verdict verdict = poly::to_verdict(profit, fused);
  if (profit.tile.empty() || profit.spent_seconds > kHopeless * profit.saved_seconds)
    return verdict;
  const std::optional<double> together = prices.seconds(fused);
  verdict.is_worth = false;
  if (!together) {
    verdict.terms.push_back("no schedule of both fits the target");
    return verdict;
  }
  const std::optional<double> first = prices.seconds(producer);
  const std::optional<double> second = prices.seconds(consumer);
  verdict.is_worth = first && second && *together < *first + *second;
  verdict.terms.push_back(
      fmt::format("cost model: {:.2f} us in one kernel, {:.2f} + {:.2f} us apart", *together * 1e6,
                  first.value_or(0) * 1e6, second.value_or(0) * 1e6));
  return verdict;
}

} // namespace

poly::FuseOptions fuse_options(const FusionSettings &settings, const Target &target) {
  return {.level = settings.level,
          .quota = settings.quota,
          .judge = [prices = std::make_shared<Prices>(target)](const poly::Group &fused,
                                                               const poly::Group &consumer,
                                                               const poly::Group &producer) {
            return judge(fused, consumer, producer, *prices);
          }};
}

std::vector<poly::PlacedGroup> make_groups(const program::StoredProgram &stored,
                                           const FusionSettings &settings, const Target &target,
                                           poly::FuseReport *report) {
  poly::FuseOptions options = fuse_options(settings, target);
  double pricing = 0; // seconds
  options.judge = [&, judge = options.judge](const poly::Group &fused, const poly::Group &consumer,
                                             const poly::Group &producer) {
    const auto start = std::chrono::steady_clock::now();
    poly::Verdict verdict = judge(fused, consumer, producer);
    pricing += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verdict;
  };
  std::vector<poly::PlacedGroup> groups = poly::make_groups(stored, options, report);
  if (report != nullptr)
    report->seconds -= pricing;
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
