// SPDX-License-Identifier: Apache-2.0
#include "search/tune.h"

#include <algorithm>

#include "base/hash.h"
#include "base/index.h"
#include "base/words.h"
#include "cost/group_model.h"
#include "schedule/members.h"
#include "search/groups.h"
#include "search/neighbours.h"
#include "search/sample.h"
#include "search/sample_group.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;

constexpr auto kSources = words<Source>({{Source::Model, "model"},
                                         {Source::Start, "start"},
                                         {Source::Ranking, "ranking"},
                                         {Source::Neighbour, "neighbour"},
                                         {Source::Random, "random"}});
constexpr std::size_t kRanking = 48;
constexpr std::size_t kParents = 4;
constexpr int kTriesPerProposal = 24;
constexpr int kDraws = 12;         // random schedules of which the best predicted is tried
constexpr double kHopeless = 4;    // times the prediction of the best: not tried
constexpr double kFruit = 0.01;    // share of the time that is more than noise
constexpr double kUsualGain = 0.1; // of a round of a kernel of which nothing is known
constexpr double kLeastCost = 1e-3;

// The name does not decide what is generated.
std::string text_of(const poly::Group &group, const Schedule &schedule) {
  Schedule nameless = schedule;
  nameless.name = "any";
  return schedule::to_text(group, nameless);
}

std::vector<Candidate> ranking_of(const poly::Group &group, const Target &target) {
  if (poly::is_alone(group))
    return candidates(group.anchor, target, kRanking);
  Schedule picked = pick(group, target);
  const cost::Estimate estimate = cost::predict(group, picked, target);
  return {{std::move(picked), estimate}};
}

std::uint64_t seed_of(const nest::Nest &nest) {
  std::uint64_t seed = 0;
  for (const char c : content_hash(nest::to_text(nest)))
    seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

} // namespace

std::string_view to_string(Source source) { return kSources[source]; }

KernelSearch::KernelSearch(const poly::Group &group, const Target &target)
    : group_(group), target_(target), ranking_(ranking_of(group, target)),
      seed_(seed_of(group.anchor)), random_(seed_) {
  known_[text_of(group, model_choice())] = true;
  best_.push_back({model_choice(), 1, Source::Model});
}

void KernelSearch::add_start(const Schedule &schedule) { starts_.push_back(schedule); }

bool KernelSearch::is_known(const Schedule &schedule) const {
  return known_.count(text_of(group_, schedule)) > 0;
}

void KernelSearch::tell(const Schedule &schedule, double ratio, Source source) {
  known_[text_of(group_, schedule)] = true;
  ++told_;
  if (ratio <= 0)
    return;
  const auto same = std::find_if(best_.begin(), best_.end(), [&](const Measured &measured) {
    return measured.schedule == schedule;
  });
  if (same != best_.end())
    same->ratio = ratio;
  else
    best_.push_back({schedule, ratio, source});
  std::stable_sort(best_.begin(), best_.end(),
                   [](const Measured &a, const Measured &b) { return a.ratio < b.ratio; });
  if (best_.size() > kParents)
    best_.resize(kParents);
}

bool KernelSearch::add(std::vector<Proposal> &into, const Schedule &schedule, Source source) {
  if (!known_.emplace(text_of(group_, schedule), true).second)
    return false;
  into.push_back({schedule, source});
  return true;
}

// The model errs, but a schedule far behind in its eyes costs more to measure than it may bring.
bool KernelSearch::is_promising(const Schedule &schedule) const {
  const double best = cost::predict(group_, best_.front().schedule, target_).seconds;
  return cost::predict(group_, schedule, target_).seconds <= kHopeless * best;
}

bool KernelSearch::propose_ranked(std::vector<Proposal> &into) {
  while (next_ranked_ < ranking_.size())
    if (add(into, ranking_[next_ranked_++].schedule, Source::Ranking))
      return true;
  return false;
}

bool KernelSearch::propose_neighbour(std::vector<Proposal> &into) {
  if (!poly::is_alone(group_))
    return propose_random(into);
  for (int i = 0; i < kTriesPerProposal; ++i) {
    const std::int64_t last = static_cast<std::int64_t>(best_.size()) - 1;
    const std::int64_t parent = std::min(random_.between(0, last), random_.between(0, last));
    const std::optional<Schedule> schedule =
        neighbour(group_.anchor, target_, best_[at(parent)].schedule, random_);
    if (schedule && !is_known(*schedule) && is_promising(*schedule))
      return add(into, *schedule, Source::Neighbour);
  }
  return false;
}

bool KernelSearch::propose_random(std::vector<Proposal> &into) {
  std::optional<Schedule> best;
  double least = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::optional<Schedule> drawn = sample(group_, target_, random_);
    if (!drawn || is_known(*drawn))
      continue;
    const double seconds = cost::predict(group_, *drawn, target_).seconds;
    if (!best || seconds < least) {
      best = drawn;
      least = seconds;
    }
  }
  return best && is_promising(*best) && add(into, *best, Source::Random);
}

// The first round is the ranking's; later ones are half neighbours, a quarter ranking, an eighth
// random.
std::vector<Proposal> KernelSearch::propose(std::size_t count) {
  random_ = Random(seed_ + told_);
  std::vector<Proposal> proposals;
  while (!starts_.empty() && proposals.size() < count) {
    add(proposals, starts_.front(), Source::Start);
    starts_.erase(starts_.begin());
  }
  const bool is_first = told_ == 0;
  int refused = 0;
  for (std::size_t turn = 0; proposals.size() < count && refused < kTriesPerProposal; ++turn) {
    const std::size_t place = turn % 8;
    const bool done = is_first || place % 4 == 1 ? propose_ranked(proposals)
                      : place == 7               ? propose_random(proposals)
                                                 : propose_neighbour(proposals);
    if (!done && !propose_neighbour(proposals))
      ++refused;
  }
  return proposals;
}

void learn(Stake &stake, double before, double after, double cost) {
  const double saved = before > 0 ? std::max(0.0, 1 - after / before) : 0;
  stake.hope = (stake.hope + saved) / 2;
  stake.fruitless = saved > kFruit ? 0 : stake.fruitless + 1;
  stake.cost = std::max(cost, kLeastCost);
  stake.seconds = after;
}

double expected_gain(const Stake &stake) {
  return std::max(stake.hope, kUsualGain / (1 + stake.fruitless));
}

std::size_t next_stake(std::span<const Stake> stakes) {
  std::size_t best = stakes.size();
  double most = 0;
  for (std::size_t k = 0; k < stakes.size(); ++k) {
    const Stake &stake = stakes[k];
    const double value =
        stake.seconds * stake.launches * expected_gain(stake) / std::max(stake.cost, kLeastCost);
    if (!stake.is_done && (best == stakes.size() || value > most)) {
      best = k;
      most = value;
    }
  }
  return best;
}

} // namespace tilefuse::search
